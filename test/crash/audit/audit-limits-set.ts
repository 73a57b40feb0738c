import type { DebitData, StoredEvent, UsageData } from '../../../ledger/audit/stored-event.ts';
import type { LimitSet } from '../move-limit.ts';

/**
 * A limit binds everything that is admitted after its proxy has read it: within a second while the log is in reach.
 * Machines are slow, and a log of a run is away for moments.
 */
const KNOWN_MS = 15_000;

interface LimitData {
  readonly keyId: string | null;
  readonly limit: string | null;
}

/** A limit that stands, of an account or of one of its keys. */
interface StandingLimit {
  readonly limit: bigint;
  readonly atMs: number;
  readonly month: string;
  /** What was spent when it was set, where that is above it already; else the limit. */
  readonly ceiling: bigint;
  /** Micro-USD that the command printed; null where it printed none. */
  readonly printed: bigint | null;
  /** What requests have cost since that began before it can have been known. */
  early: bigint;
}

/**
 * Goes through an account's events in order: spending passes a limit only by what was under way when the limit was set,
 * and by no more than the command printed.
 */
export function auditLimitsSet(events: readonly StoredEvent[], sets: readonly LimitSet[]): string[] {
  const faults: string[] = [];
  const standing = new Map<string | null, StandingLimit>();
  const spent = new Map<string, bigint>();
  let usage: UsageData | null = null;
  for (const { type, data, metadata } of events) {
    if (type === 'UsageRecorded') usage = data as UsageData;
    if (type === 'SpendLimitSet') {
      const { keyId, limit } = data as LimitData;
      const at = metadata?.recordedAt ?? '';
      const before = spent.get(scopeOf(at.slice(0, 7), keyId)) ?? 0n;
      if (limit === null) standing.delete(keyId);
      else standing.set(keyId, standingLimit(BigInt(limit), at, before, printedFor(sets, keyId, BigInt(limit))));
    }
    if (type !== 'CreditsDebited' || usage === null) continue;
    const debit = data as DebitData;
    for (const keyId of [null, debit.keyId]) {
      const after = BigInt(keyId === null ? debit.monthToDateAfter : debit.keyMonthToDateAfter);
      spent.set(scopeOf(debit.month, keyId), after);
      const limit = standing.get(keyId);
      if (limit !== undefined && limit.month === debit.month)
        faults.push(...auditAgainst(limit, { debit, usage, after, whose: keyId ?? 'the account' }));
    }
  }
  return faults;
}

interface Against {
  readonly debit: DebitData;
  readonly usage: UsageData;
  readonly after: bigint;
  readonly whose: string;
}

function auditAgainst(limit: StandingLimit, { debit, usage, after, whose }: Against): string[] {
  if (Date.parse(usage.startedAt) <= limit.atMs + KNOWN_MS) limit.early += BigInt(debit.amount);
  const past = after - limit.ceiling;
  const faults: string[] = [];
  if (past > limit.early)
    faults.push(`${debit.requestId}: ${whose} spends ${after}, ${past} past its limit of ${limit.limit}`);
  if (limit.printed !== null && past > limit.printed)
    faults.push(`${debit.requestId}: ${whose} is ${past} past its limit, the command had printed ${limit.printed}`);
  return faults;
}

const standingLimit = (limit: bigint, at: string, before: bigint, printed: bigint | null): StandingLimit => ({
  limit,
  atMs: Date.parse(at),
  month: at.slice(0, 7),
  ceiling: before > limit ? before : limit,
  printed,
  early: 0n,
});

function printedFor(sets: readonly LimitSet[], keyId: string | null, limit: bigint): bigint | null {
  return sets.find((one) => one.keyId === keyId && one.limit === limit)?.setAside ?? null;
}

const scopeOf = (month: string, keyId: string | null): string => `${month} ${keyId ?? 'account'}`;
