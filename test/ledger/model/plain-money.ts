import type { AccountEvent, UsageRecorded } from '../../../contracts/events.ts';
import type { AccountCommand } from '../../../ledger/account/commands.ts';
import {
  isOver,
  isThere,
  least,
  type PlainGrant,
  type PlainPart,
  planReturn,
  takeFor,
  type Verdict,
} from './plain-grants.ts';
import { PlainLimits } from './plain-limits.ts';
import { PlainStatements } from './plain-statements.ts';

export type Of<T extends AccountCommand['type']> = Extract<AccountCommand, { readonly type: T }>;

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const MICRO = 1_000_000n;

/** What was taken before: what was owed for it, who has paid that then, and of which grants the rest was. */
interface PlainReturn {
  readonly owed: bigint;
  readonly payers: readonly PlainPart[];
  readonly parts: readonly PlainPart[];
  readonly wereRevoked: boolean;
}

/** What is granted, used, and over. */
export class PlainMoney {
  readonly #price: { readonly input: bigint; readonly output: bigint };
  readonly grants: PlainGrant[] = [];
  owed = 0n;
  /** By month, and by month and key. */
  readonly spent: Record<string, bigint> = {};
  readonly limits = new PlainLimits(this.spent);
  readonly statements = new PlainStatements();
  /** Of all requests, exactly, in pico-USD: what is debited is what of it is whole. */
  #exact = 0n;
  /** Of each request what was taken and is not reversed, in its order. */
  protected readonly taken: Record<string, PlainPart[]> = {};
  protected readonly requests: Record<string, { readonly month: string; readonly key: string }> = {};
  /** By hand. */
  readonly #granted: Record<string, Pick<Of<'GrantCredits'>, 'source' | 'costBasis'>> = {};
  readonly #exceptions: Record<string, { usage: UsageRecorded; exact: bigint }> = {};
  readonly #ended = new Set<string>();
  readonly #late = new Set<string>();
  readonly #leases: Record<string, { amount: bigint; untilMs: number; readonly fromMs: number }> = {};

  /** @param price pico-USD per token; the fast lane costs twice */
  constructor(price: { readonly input: bigint; readonly output: bigint }) {
    this.#price = price;
  }

  get balance(): bigint {
    return this.grants.reduce((sum, { left }) => sum + left, -this.owed);
  }

  usable(nowMs: number): bigint {
    return this.grants.reduce((sum, grant) => (isThere(grant, nowMs) ? sum + grant.left : sum), -this.owed);
  }

  protected grant(command: Of<'GrantCredits'>): Verdict {
    const { grantId: id, source, amount, costBasis, priority, effectiveAtMs: fromMs, expiresAtMs } = command;
    const untilMs = expiresAtMs ?? Number.POSITIVE_INFINITY;
    if (amount <= 0n) return 'refused';
    const known = this.find(id);
    if (known !== undefined) {
      const before = this.#granted[id];
      const isSame = before?.source === source && before.costBasis === costBasis && known.amount === amount;
      return isSame && known.priority === priority && untilMs === known.untilMs ? 'nothing' : 'refused';
    }
    if (untilMs <= fromMs) return 'refused';
    this.#granted[id] = { source, costBasis };
    this.add({ id, amount, isPaid: costBasis > 0n, priority, fromMs, untilMs }, fromMs);
    return 'done';
  }

  /** What is owed is paid by it first. */
  protected add(
    grant: Pick<PlainGrant, 'id' | 'amount' | 'isPaid' | 'priority' | 'fromMs' | 'untilMs'>,
    factMs: number,
  ): void {
    const filled = least(this.owed, grant.amount);
    this.owed -= filled;
    this.grants.push({ ...grant, left: grant.amount - filled, spent: filled, lost: 0n, expired: 0n, revoked: 0n });
    this.statements.move(grant.amount, factMs);
  }

  protected find(id: string): PlainGrant | undefined {
    return this.grants.find((grant) => grant.id === id);
  }

  protected use({ usage, leaseId }: Of<'RecordUsage'>): Verdict {
    this.requests[usage.requestId] = { month: usage.startedAt.slice(0, 7), key: usage.keyId };
    if (usage.unpriced.length > 0) this.#exceptions[usage.requestId] = { usage, exact: 0n };
    const exact = usage.billable ? this.#costOf(usage) : 0n;
    if (exact === 0n) return 'done';
    const whole = ((this.#exact % MICRO) + exact) / MICRO;
    const leftOut = usage.hold !== null && whole > usage.hold ? whole - usage.hold : 0n;
    if (leftOut > 0n) this.#exceptions[usage.requestId] = { usage, exact: leftOut * MICRO };
    const amount = this.#debit(usage, exact - leftOut * MICRO);
    const lease = leaseId === undefined || leaseId === null ? undefined : this.#leases[leaseId];
    if (lease !== undefined) lease.amount -= amount;
    this.#dropUsedUp();
    return 'done';
  }

  #costOf({ tokens, lane }: UsageRecorded): bigint {
    const { input, output } = this.#price;
    const hundredths =
      BigInt(tokens.input) * input * 100n +
      BigInt(tokens.output) * output * 100n +
      BigInt(tokens.cacheRead) * input * 10n +
      BigInt(tokens.cacheWrite5m) * input * 125n +
      BigInt(tokens.cacheWrite1h) * input * 200n;
    return (hundredths * (lane === 'fast' ? 2n : 1n)) / 100n;
  }

  #debit({ requestId, keyId, startedAt, finishedAt }: UsageRecorded, exact: bigint): bigint {
    const before = this.#exact / MICRO;
    this.#exact += exact;
    const amount = this.#exact / MICRO - before;
    const parts = takeFor(this.grants, amount, Date.parse(startedAt), Date.parse(finishedAt));
    this.owed += parts.at(-1)?.amount ?? 0n;
    this.taken[requestId] = [...(this.taken[requestId] ?? []), ...parts];
    const month = startedAt.slice(0, 7);
    this.spend(month, keyId, amount);
    this.limits.used(month, keyId);
    this.statements.move(-amount, Date.parse(startedAt));
    return amount;
  }

  protected spend(month: string, key: string, amount: bigint): void {
    for (const scope of [month, `${month} ${key}`]) this.spent[scope] = (this.spent[scope] ?? 0n) + amount;
  }

  protected reportLate(usage: UsageRecorded): Verdict {
    const { requestId } = usage;
    if (usage.outcome === 'recovered' || this.#late.has(requestId) || this.#ended.has(requestId)) return 'nothing';
    this.#late.add(requestId);
    const before = this.#exceptions[requestId]?.exact ?? 0n;
    this.#exceptions[requestId] = { usage, exact: before + (usage.billable ? this.#costOf(usage) : 0n) };
    return 'done';
  }

  protected end({ type, requestId, reason }: Of<'ApproveException' | 'DropException'>): Verdict {
    const exception = this.#exceptions[requestId];
    if (reason.trim() === '' || exception === undefined) return 'refused';
    delete this.#exceptions[requestId];
    this.#ended.add(requestId);
    if (type === 'ApproveException') this.#debit(exception.usage, exception.exact);
    return 'done';
  }

  protected expire({ nowMs, lateMs }: Of<'ExpireCredits'>): Verdict {
    const dueMs = nowMs - lateMs;
    const leases = Object.values(this.#leases).filter(({ untilMs }) => untilMs > dueMs);
    const isUnderWay = (grant: PlainGrant): boolean => leases.some(({ fromMs }) => fromMs < grant.untilMs);
    const over = this.grants.filter((grant) => grant.left > 0n && isOver(grant, dueMs) && !isUnderWay(grant));
    for (const grant of over) this.writeOff(grant);
    return over.length > 0 ? 'done' : 'nothing';
  }

  protected writeOff(grant: PlainGrant): void {
    this.statements.move(-grant.left, grant.untilMs);
    grant.expired += grant.left;
    grant.left = 0n;
  }

  protected reinstate(command: Of<'ReinstateCredits'>): Verdict {
    const grant = this.find(command.grantId);
    if (grant === undefined || grant.expired === 0n) return 'refused';
    // What has come back to it and is over again has expired as well.
    const rest = isOver(grant, command.nowMs) ? grant.left : 0n;
    const expired = grant.expired + rest;
    const amount = command.amount ?? expired;
    const untilMs = command.expiresAtMs ?? grant.untilMs;
    if (amount <= 0n || amount > expired || untilMs < grant.untilMs || untilMs <= command.nowMs) return 'refused';
    if (rest > 0n && !this.#isSurelyOver(grant, command.nowMs)) return 'refused';
    if (rest > 0n) this.writeOff(grant);
    const filled = least(this.owed, amount);
    this.owed -= filled;
    grant.expired -= amount;
    grant.spent += filled;
    grant.left += amount - filled;
    grant.untilMs = untilMs;
    this.statements.move(amount, command.nowMs);
    return 'done';
  }

  /** What is owed pays for them in the order in which a request would take them. */
  #withoutDebt(parts: readonly PlainPart[], debt: bigint): PlainPart[] {
    let left = debt;
    const others = parts.toReversed().map(({ grant, amount }) => {
      const paying = least(amount, left);
      left -= paying;
      return { grant, amount: amount - paying };
    });
    return others.toReversed();
  }

  /** False where a grant that is over may still be spent by requests from before, and so cannot begin anew. */
  protected comeBack({ owed, payers, parts: all, wereRevoked }: PlainReturn, nowMs: number): boolean {
    const total = all.reduce((sum, { amount }) => sum + amount, owed);
    const owedLess = least(total, this.owed);
    const filled = owed > this.owed ? owed - this.owed : 0n;
    const parts = this.#withoutDebt(all, owedLess - (owed - filled));
    const first = this.find(all[0]?.grant ?? '');
    if (wereRevoked && first !== undefined) first.lost -= owed;
    const plan = planReturn(this.grants, { filled, payers, parts, wereRevoked }, nowMs);
    const over = this.grants.filter((grant) => isOver(grant, nowMs) && plan.some((part) => part.grant === grant.id));
    for (const grant of over) {
      if (grant.left === 0n) continue;
      if (this.#isSurelyOver(grant, nowMs)) continue;
      if (wereRevoked && first !== undefined) first.lost += owed;
      return false;
    }
    this.owed -= owedLess;
    for (const grant of over) {
      if (grant.left > 0n) this.writeOff(grant);
      grant.untilMs = nowMs + 30 * DAY_MS;
    }
    // What it held and pays a debt now is as spent as if it had been there.
    const paying = total - owed - parts.reduce((sum, part) => sum + part.amount, 0n);
    if (wereRevoked && first !== undefined) {
      first.revoked -= paying;
      first.spent += paying;
    }
    let revoked = wereRevoked ? parts.reduce((sum, part) => sum + part.amount, 0n) : 0n;
    for (const { grant: id, amount } of plan) {
      const grant = this.find(id ?? '');
      if (grant === undefined) throw new Error(`no grant ${id}`);
      const ofRevoked = grant.id === parts[0]?.grant ? least(revoked, amount) : 0n;
      revoked -= ofRevoked;
      grant.revoked -= ofRevoked;
      grant.spent -= amount - ofRevoked;
      grant.left += amount;
    }
    return true;
  }

  /** No request of before its end can be under way. */
  #isSurelyOver(grant: PlainGrant, nowMs: number): boolean {
    const earlier = Object.values(this.#leases).filter(({ fromMs }) => fromMs < grant.untilMs);
    return Math.max(grant.untilMs, ...earlier.map(({ untilMs }) => untilMs)) + 2 * HOUR_MS <= nowMs;
  }

  /** How much is leased is the ledger's to say: the invariants look at that. */
  protected lease(decided: readonly AccountEvent[]): Verdict {
    for (const { type, data } of decided) {
      if (type === 'CreditsLeased') {
        const untilMs = Date.parse(data.expiresAt);
        const { amount, fromMs } = this.#leases[data.leaseId] ?? {
          amount: 0n,
          fromMs: Date.parse(data.requestsFrom ?? ''),
        };
        this.#leases[data.leaseId] = { amount: amount + data.amount, untilMs, fromMs };
      }
      const lease = type === 'LeaseReleased' ? this.#leases[data.leaseId] : undefined;
      if (lease !== undefined && type === 'LeaseReleased') lease.amount -= data.amount;
      // One that is taken anew under the id of one that has ended begins anew.
      this.#dropUsedUp();
    }
    return decided.length > 0 ? 'done' : 'nothing';
  }

  #dropUsedUp(): void {
    for (const [id, { amount }] of Object.entries(this.#leases)) if (amount <= 0n) delete this.#leases[id];
  }
}
