import { isUsageAsWritten } from '../../contracts/event-codec.ts';
import type { EventWithoutId } from '../../contracts/event-log.ts';
import type { AccountEvent, CreditsDebited, EventType } from '../../contracts/events.ts';
import {
  type AccountId,
  accountOfStream,
  CATALOG_STREAM,
  NO_STREAM,
  type Position,
  type StreamName,
} from '../../contracts/ids.ts';
import { amountOfText, PICO_PER_MICRO } from '../../contracts/money.ts';
import { accountEventOf } from '../../ledger/account/account-event.ts';
import { AccountUnreadableError } from '../../ledger/account/account-unreadable-error.ts';

/** Of one account, or of all. */
export interface MoneySums {
  balanceMicroUsd: bigint;
  billedPicoUsd: bigint;
}

/** Of one account, and the last revision that was added. */
interface StreamSums extends MoneySums {
  last: number;
}

interface OfStream {
  readonly stream: StreamName;
  readonly id: AccountId;
  readonly sums: StreamSums;
}

/** What those come to that one of several has read, as it goes from thread to thread. */
export interface SumsOfPart {
  readonly accounts: ReadonlyMap<AccountId, StreamSums>;
  readonly catalog: number;
  readonly through: Position | null;
  readonly unreadable: readonly string[];
  readonly lacksNone: boolean;
}

/** What the events of a log come to, stream by stream and by themselves: no view is asked, and no other event. */
export class EventSums {
  readonly accounts = new Map<AccountId, StreamSums>();
  catalog: number = NO_STREAM;
  /** The last that was added. */
  through: Position | null = null;
  /** Events whose money cannot be read, in one line each. */
  readonly unreadable: string[] = [];
  readonly #paidUpTo: ReadonlyMap<string, number>;
  #lacksNone = true;
  /** A request's events come together. */
  #last: OfStream | null = null;

  /** @param paidUpTo of some accounts the last revision whose money counts */
  constructor(paidUpTo: ReadonlyMap<string, number> = new Map()) {
    this.#paidUpTo = paidUpTo;
  }

  /** @param parts of which each has streams that no other one has, and each of them whole */
  static of(parts: readonly SumsOfPart[]): EventSums {
    const sums = new EventSums();
    for (const { accounts, catalog, through, unreadable, lacksNone } of parts) {
      for (const [id, ofStream] of accounts) sums.accounts.set(id, ofStream);
      if (catalog > sums.catalog) sums.catalog = catalog;
      if (through !== null && through > (sums.through ?? 0)) sums.through = through;
      sums.unreadable.push(...unreadable);
      sums.#lacksNone &&= lacksNone;
    }
    return sums;
  }

  get asPart(): SumsOfPart {
    const { accounts, catalog, through, unreadable } = this;
    return { accounts, catalog, through, unreadable, lacksNone: this.#lacksNone };
  }

  /** Whether every event of each stream was added, up to the last, and could be read. */
  get isWhole(): boolean {
    return this.#lacksNone && this.unreadable.length === 0;
  }

  /** @param event what was read of it, where that is known */
  add(recorded: EventWithoutId, event: AccountEvent | null = null): void {
    const { stream, revision } = recorded;
    this.through = recorded.position;
    if (stream === CATALOG_STREAM) {
      this.#lacksNone &&= revision === this.catalog + 1;
      this.catalog = revision;
    }
    const found = this.#find(stream);
    if (found === null) return;
    const { id, sums } = found;
    this.#lacksNone &&= revision === sums.last + 1;
    sums.last = revision;
    if (revision <= (this.#paidUpTo.get(id) ?? revision)) this.#addMoney(found, recorded, event);
  }

  #find(stream: StreamName): OfStream | null {
    if (this.#last?.stream === stream) return this.#last;
    const id = accountOfStream(stream);
    if (id === null) return null;
    this.#last = { stream, id, sums: this.accounts.get(id) ?? this.#begun(id) };
    return this.#last;
  }

  #begun(id: AccountId): StreamSums {
    const begun = { last: NO_STREAM, balanceMicroUsd: 0n, billedPicoUsd: 0n };
    this.accounts.set(id, begun);
    return begun;
  }

  #addMoney({ id, sums }: OfStream, recorded: EventWithoutId, event: AccountEvent | null): void {
    try {
      const { balanceMicroUsd, billedPicoUsd } = event === null ? moneyOf(id, recorded) : added(event);
      if (balanceMicroUsd === 0n && billedPicoUsd === 0n) return;
      sums.balanceMicroUsd += balanceMicroUsd;
      sums.billedPicoUsd += billedPicoUsd;
    } catch (error) {
      if (!(error instanceof AccountUnreadableError)) throw error;
      this.unreadable.push(error.message);
    }
  }
}

const COUNTED: ReadonlySet<string> = new Set<EventType>([
  'CreditsGranted',
  'CreditsReinstated',
  'CreditsExpired',
  'GrantRevoked',
  'GrantRestored',
  'DebitReversed',
  'BalanceAdjusted',
  'CreditsDebited',
  'ExceptionApproved',
]);

const NONE: Readonly<MoneySums> = { balanceMicroUsd: 0n, billedPicoUsd: 0n };

/** What one event of an account adds to its money, without any state: no view is asked. @throws AccountUnreadableError */
function moneyOf(id: AccountId, recorded: EventWithoutId): Readonly<MoneySums> {
  if (!COUNTED.has(recorded.type)) return NONE;
  return recorded.type === 'CreditsDebited' && isUsageAsWritten(recorded)
    ? debitedBy(recorded.data)
    : added(accountEventOf(id, recorded));
}

/** By the text alone, in which each name stands once and in its place: most of what is counted, in less than half of the time. */
function debitedBy(json: string): Readonly<MoneySums> {
  const amount = amountIn(json, '"amount":"', 0);
  const leftOut = amountIn(json, '"leftOut":"', amount.end);
  let billedPicoUsd = -leftOut.value * PICO_PER_MICRO;
  for (let cost = amountIn(json, COST, leftOut.end); cost.end !== NO_MORE; cost = amountIn(json, COST, cost.end))
    billedPicoUsd += cost.value;
  return { balanceMicroUsd: -amount.value, billedPicoUsd };
}

/** Of each line and use. */
const COST = '"cost":"';
const NO_MORE = -1;

/** The next one of a name, and where it ends. */
function amountIn(json: string, name: string, from: number): { readonly value: bigint; readonly end: number } {
  const at = json.indexOf(name, from);
  if (at === -1) return { value: 0n, end: NO_MORE };
  const end = json.indexOf('"', at + name.length);
  return { value: amountOfText(json.slice(at + name.length, end)), end };
}

function added({ type, data }: AccountEvent): Readonly<MoneySums> {
  switch (type) {
    case 'CreditsGranted':
    case 'CreditsReinstated':
    case 'GrantRestored':
      return { balanceMicroUsd: data.amount, billedPicoUsd: 0n };
    case 'CreditsExpired':
    case 'GrantRevoked':
      return { balanceMicroUsd: -data.amount, billedPicoUsd: 0n };
    case 'BalanceAdjusted':
      return { balanceMicroUsd: data.direction === 'up' ? data.amount : -data.amount, billedPicoUsd: 0n };
    case 'DebitReversed':
      return { balanceMicroUsd: data.amount, billedPicoUsd: -data.amount * PICO_PER_MICRO };
    case 'CreditsDebited':
      return { balanceMicroUsd: -data.amount, billedPicoUsd: billedBy(data) };
    case 'ExceptionApproved':
      return { balanceMicroUsd: -data.amount, billedPicoUsd: data.cost };
    default:
      return NONE;
  }
}

const billedBy = ({ lines, uses, leftOut }: CreditsDebited): bigint =>
  [...lines, ...uses].reduce((sum, { cost }) => sum + cost, -leftOut * PICO_PER_MICRO);
