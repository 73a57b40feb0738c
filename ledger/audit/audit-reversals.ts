import type { RecordedEvent } from '../../contracts/event-log.ts';
import { isObject, jsonOf } from '../../contracts/json-object.ts';
import { compareReturn } from './audit-coming-back.ts';
import type { Fault, Unit } from './fault.ts';
import type { PendingReversal } from './own-account.ts';
import type { ApprovedData } from './stored-event.ts';

/** A reversal with the stream that it stands in. */
export interface ReversalOfStream extends PendingReversal {
  readonly stream: string;
}

/** A grant's share of a debit, or, of no grant, what was not covered. */
interface Piece {
  readonly grantId: string | null;
  amount: bigint;
}

/**
 * A second look at a ledger in which something was reversed: of the requests that are named it takes the debits and approvals,
 * and compares what each reversal says of them. The first look keeps nothing of requests, and a debit may be long before.
 */
export class Reversals {
  readonly #onFault: (fault: Fault) => void;
  /** By stream and request: reversals, and whatever was debited, each with its revision. */
  readonly #requests = new Map<string, { readonly reversals: ReversalOfStream[]; readonly debits: Debited[] }>();
  readonly #streams = new Set<string>();

  constructor(reversals: readonly ReversalOfStream[], onFault: (fault: Fault) => void) {
    this.#onFault = onFault;
    for (const reversal of reversals) {
      const key = `${reversal.stream} ${reversal.data.requestId}`;
      const of = this.#requests.get(key) ?? { reversals: [], debits: [] };
      of.reversals.push(reversal);
      this.#requests.set(key, of);
      this.#streams.add(reversal.stream);
    }
  }

  take({ stream, type, revision, data }: Pick<RecordedEvent, 'stream' | 'type' | 'revision' | 'data'>): void {
    if (!this.#streams.has(stream) || (type !== 'CreditsDebited' && type !== 'ExceptionApproved')) return;
    const stored = jsonOf(data);
    // That it cannot be read is told already.
    if (!isObject(stored)) return;
    const debit = stored as unknown as ApprovedData;
    this.#requests.get(`${stream} ${debit.requestId}`)?.debits.push({ revision, debit });
  }

  /** When there are no more. */
  end(): void {
    for (const { reversals, debits } of this.#requests.values())
      compareRequest(reversals, debits, ({ stream, revision, data }, what, found, expected, unit) =>
        this.#onFault({
          ...{
            stream,
            revision,
            what: `${data.reversalId}: ${what}`,
            found: textOf(found),
            expected: textOf(expected),
          },
          ...(unit === undefined ? {} : { unit }),
        }),
      );
  }
}

interface Debited {
  readonly revision: number;
  readonly debit: ApprovedData;
}

type Told = (of: ReversalOfStream, what: string, found: unknown, expected: unknown, unit?: Unit) => void;

/** What was debited lies upon what was debited before; each reversal takes from the top. */
function compareRequest(reversals: readonly ReversalOfStream[], debits: readonly Debited[], told: Told): void {
  const pile: Piece[] = [];
  const events = [...reversals, ...debits].sort((one, other) => one.revision - other.revision);
  let last: ApprovedData | null = null;
  for (const event of events) {
    if ('debit' in event) {
      last = event.debit;
      for (const { grantId, amount } of last.grants) pile.push({ grantId, amount: BigInt(amount) });
      pile.push({ grantId: null, amount: BigInt(last.uncovered) });
      continue;
    }
    const { data, before } = event;
    const tell = (what: string, found: unknown, expected: unknown, unit?: Unit): void =>
      told(event, what, found, expected, unit);
    if (last === null) {
      tell('reverses a request that was not debited before', data.requestId, null);
      continue;
    }
    for (const name of ['keyId', 'model', 'lane', 'month'] as const)
      if (data[name] !== last[name]) tell(`the ${name} of its request`, data[name], last[name]);
    const left = pile.reduce((sum, { amount }) => sum + amount, 0n);
    const amount = BigInt(data.amount);
    if (amount > left) tell('gives back of its request', amount, `at most ${left}`, 'micro-USD');
    const pieces = topOf(pile, amount);
    const shares = pieces.flatMap(({ grantId, amount: of }) => (grantId === null ? [] : [{ grantId, amount: of }]));
    const uncovered = pieces.reduce((sum, one) => (one.grantId === null ? sum + one.amount : sum), 0n);
    compareReturn(before, data, { uncovered, shares, paidBy: null, at: data.reversedAt }, tell);
  }
}

/** Takes so much off the pile. */
function topOf(pile: Piece[], wanted: bigint): Piece[] {
  const pieces: Piece[] = [];
  let left = wanted;
  for (let top = pile.at(-1); top !== undefined && left > 0n; top = pile.at(-1)) {
    const amount = top.amount > left ? left : top.amount;
    left -= amount;
    top.amount -= amount;
    if (amount > 0n) pieces.push({ grantId: top.grantId, amount });
    if (top.amount === 0n) pile.pop();
  }
  return pieces;
}

const textOf = (value: unknown): string | null => (value === null ? null : String(value));
