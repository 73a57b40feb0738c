import { expect } from 'vitest';
import type {
  AccountEvent,
  CreditsDebited,
  EventData,
  ExceptionApproved,
  UsageRecorded,
} from '../../../contracts/events.ts';

/**
 * An account's life recomputed from its events in the plainest way, sharing no code with the ledger: the exact cost is
 * summed up for ever and never carried, months are read off the text of the instant, the order of grants is that of a
 * text. Whatever the ledger wrote down is compared with it.
 */
interface PlainGrant {
  readonly id: string;
  readonly amount: bigint;
  left: bigint;
  readonly from: string;
  until: string;
  order: string;
}

/** What an operator has to decide on, as far as it is money. */
interface PlainException {
  readonly usage: UsageRecorded;
  /** Pico-USD. */
  cost: bigint;
}

const SHARE: Readonly<Record<string, bigint>> = { cacheRead: 10n, cacheWrite5m: 125n, cacheWrite1h: 200n };

/** What one debit can say of the grants that it takes from; the rest is uncovered. */
const SHARES_BYTES_MAX = 192 * 1024;

export class PlainLedger {
  readonly #price: { readonly input: bigint; readonly output: bigint; readonly hasFast: boolean };
  readonly #grants: PlainGrant[] = [];
  readonly #spent = new Map<string, bigint>();
  readonly #crossed = new Set<string>();
  readonly #exceptions = new Map<string, PlainException>();
  readonly #ended = new Set<string>();
  #usage: UsageRecorded | null = null;
  #exact = 0n;
  granted = 0n;
  expired = 0n;
  revoked = 0n;
  debited = 0n;
  uncovered = 0n;

  constructor(price: { readonly input: bigint; readonly output: bigint; readonly hasFast: boolean }) {
    this.#price = price;
  }

  get balance(): bigint {
    return this.granted - this.expired - this.revoked - this.debited;
  }

  get remaining(): ReadonlyMap<string, bigint> {
    return new Map(this.#grants.map(({ id, left }) => [id, left]));
  }

  get months(): ReadonlyMap<string, bigint> {
    return this.#spent;
  }

  /** Requests whose exceptions wait for an operator, with their exact cost. */
  get exceptions(): ReadonlyMap<string, bigint> {
    return new Map([...this.#exceptions].map(([id, { cost }]) => [id, cost]));
  }

  /** What the exact sum of all costs has over what was debited, in pico-USD. */
  get behind(): bigint {
    return this.#exact - this.debited * 1_000_000n;
  }

  take(event: AccountEvent): void {
    if (event.type === 'CreditsGranted') this.#grant(event.data);
    else if (event.type === 'CreditsExpired') this.expired += this.#remove(event.data);
    else if (event.type === 'CreditsReinstated') this.#reinstate(event.data);
    else if (event.type === 'GrantRevoked') this.revoked += this.#remove(event.data);
    else if (event.type === 'UsageRecorded') this.#record(event.data);
    else if (event.type === 'CreditsDebited') this.#debit(event.data);
    else if (event.type === 'LateUsageReported') this.#reportLate(event.data);
    else if (event.type === 'ExceptionApproved') this.#approve(event.data);
    else if (event.type === 'ExceptionDropped') this.#drop(event.data);
    else if (event.type === 'SpendThresholdCrossed') {
      const told = `${event.data.keyId ?? 'account'} ${event.data.month} ${event.data.thresholdPercent}`;
      expect(this.#crossed, `told once: ${told}`).not.toContain(told);
      this.#crossed.add(told);
    }
  }

  #grant(data: Extract<AccountEvent, { type: 'CreditsGranted' }>['data']): void {
    const filled = data.amount < this.uncovered ? data.amount : this.uncovered;
    this.uncovered -= filled;
    this.granted += data.amount;
    const until = data.expiresAt ?? '9999';
    const order = [
      String(data.priority).padStart(4, '0'),
      until,
      data.costBasis === 0n ? 0 : 1,
      data.effectiveAt,
      data.grantId,
    ];
    this.#grants.push({
      id: data.grantId,
      amount: data.amount,
      left: data.amount - filled,
      from: data.effectiveAt,
      until,
      order: order.join('|'),
    });
  }

  #reinstate(data: Extract<AccountEvent, { type: 'CreditsReinstated' }>['data']): void {
    const grant = this.#grants.find(({ id }) => id === data.grantId);
    if (grant === undefined) throw new Error(`no grant ${data.grantId}`);
    const filled = data.amount < this.uncovered ? data.amount : this.uncovered;
    this.uncovered -= filled;
    this.expired -= data.amount;
    grant.left += data.amount - filled;
    grant.order = grant.order.replace(grant.until, data.expiresAt);
    grant.until = data.expiresAt;
    expect(grant.left <= grant.amount, `${data.grantId} holds ${grant.left}`).toBe(true);
  }

  #remove({ grantId, amount }: { readonly grantId: string; readonly amount: bigint }): bigint {
    const grant = this.#grants.find(({ id }) => id === grantId);
    if (grant === undefined) throw new Error(`no grant ${grantId}`);
    grant.left -= amount;
    expect(grant.left >= 0n, `${grantId} holds ${grant.left}`).toBe(true);
    return amount;
  }

  #debit(debit: CreditsDebited): void {
    const usage = this.#usage;
    this.#usage = null;
    if (usage === null) throw new Error('a debit without its usage before it');
    const cost = this.#costOf(usage);
    const hold = usage.hold ?? 10n ** 40n;
    const whole = ((this.#exact % 1_000_000n) + cost) / 1_000_000n;
    const leftOut = whole > hold ? whole - hold : 0n;
    if (leftOut > 0n) this.#exceptionOf(usage).cost += leftOut * 1_000_000n;
    expect(debit).toMatchObject({ cost, leftOut, requestId: usage.requestId, keyId: usage.keyId });
    this.#pay(debit, usage, cost - leftOut * 1_000_000n);
    expect(debit.lines.reduce((sum, line) => sum + line.cost, 0n)).toBe(cost);
  }

  /** Takes an exact cost from the grants, and compares what a debit or an approval says of it. */
  #pay(said: Omit<ExceptionApproved, 'cost' | 'reason' | 'actor'>, usage: UsageRecorded, exact: bigint): void {
    const before = this.#exact;
    this.#exact += exact;
    const amount = this.#exact / 1_000_000n - before / 1_000_000n;
    const shares = this.#burn(amount, usage.startedAt, usage.finishedAt);
    const covered = shares.reduce((sum, share) => sum + share.amount, 0n);
    this.debited += amount;
    this.uncovered += amount - covered;
    const month = usage.startedAt.slice(0, 7);
    expect(said).toMatchObject({
      keyId: usage.keyId,
      carryBefore: before % 1_000_000n,
      carryAfter: this.#exact % 1_000_000n,
      amount,
      grants: shares,
      uncovered: amount - covered,
      balanceAfter: this.balance,
      month,
      monthToDateAfter: this.#spend(month, amount),
      keyMonthToDateAfter: this.#spend(`${month} ${usage.keyId}`, amount),
    });
  }

  #record(usage: UsageRecorded): void {
    this.#usage = usage;
    if (usage.unpriced.length > 0) this.#exceptionOf(usage);
  }

  #reportLate({ requestId, usage, cost }: EventData<'LateUsageReported'>): void {
    expect(this.#ended, 'late usage of an exception that has ended').not.toContain(requestId);
    expect(cost).toBe(usage.billable ? this.#costOf(usage) : 0n);
    const { cost: leftOut } = this.#exceptionOf(usage);
    this.#exceptions.set(requestId, { usage, cost: leftOut + cost });
  }

  #approve(approved: ExceptionApproved): void {
    const { usage, cost } = this.#end(approved.requestId);
    expect(approved.cost).toBe(cost);
    this.#pay(approved, usage, cost);
  }

  #drop({ requestId, amount }: EventData<'ExceptionDropped'>): void {
    expect(amount).toBe(this.#end(requestId).cost / 1_000_000n);
  }

  #end(requestId: string): PlainException {
    const exception = this.#exceptions.get(requestId);
    if (exception === undefined) throw new Error(`${requestId} has no exception`);
    this.#exceptions.delete(requestId);
    this.#ended.add(requestId);
    return exception;
  }

  #exceptionOf(usage: UsageRecorded): PlainException {
    const exception = this.#exceptions.get(usage.requestId) ?? { usage, cost: 0n };
    this.#exceptions.set(usage.requestId, exception);
    return exception;
  }

  #spend(scope: string, amount: bigint): bigint {
    const spent = (this.#spent.get(scope) ?? 0n) + amount;
    this.#spent.set(scope, spent);
    return spent;
  }

  #costOf({ tokens, lane }: UsageRecorded): bigint {
    const { input, output, hasFast } = this.#price;
    let percent = 0n;
    for (const [name, count] of Object.entries(tokens))
      percent += BigInt(count) * (name === 'output' ? output * 100n : input * (SHARE[name] ?? 100n));
    return (percent * (lane === 'fast' && hasFast ? 2n : 1n)) / 100n;
  }

  /** First by what was usable at the start, then at the end, then by what came later and is there already. */
  #burn(amount: bigint, start: string, end: string): { grantId: string; amount: bigint }[] {
    const shares: { grantId: string; amount: bigint }[] = [];
    const isAt = ({ from, until }: PlainGrant, at: string): boolean => from <= at && at < until;
    const rank = (grant: PlainGrant): number =>
      isAt(grant, start) ? 1 : isAt(grant, end) ? 2 : grant.from > start ? 3 : 9;
    const inOrder = this.#grants
      .filter((grant) => rank(grant) < 9)
      .toSorted((a, b) => (`${rank(a)}${a.order}` < `${rank(b)}${b.order}` ? -1 : 1));
    let left = amount;
    let room = SHARES_BYTES_MAX;
    for (const grant of inOrder) {
      const taken = grant.left < left ? grant.left : left;
      if (taken === 0n) continue;
      room -= Buffer.byteLength(`{"grantId":${JSON.stringify(grant.id)},"amount":"${taken}"},`);
      if (room < 0) break;
      grant.left -= taken;
      left -= taken;
      shares.push({ grantId: grant.id, amount: taken });
    }
    return shares;
  }
}
