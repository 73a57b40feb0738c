import type { EventData } from '../../contracts/events.ts';
import type { KeyId, LeaseId } from '../../contracts/ids.ts';
import { type MicroUsd, microUsd } from '../../contracts/money.ts';
import { type Grant, type Lease, NOTHING, type OpenAccount } from './account-state.ts';
import { isUsable, usableCredits } from './grants.ts';
import { keptAmount } from './kept-amount.ts';
import { entryOf } from './keyed-tree.ts';
import { keysOfMember, memberKey, memberKeyOf } from './members.ts';
import { monthOf } from './month.ts';
import { paidByExpired, type StartedHold } from './paid-by-expired.ts';
import { overdraftOf } from './plan-over.ts';
import { monthOfSpend, spentByKey, spentByMember } from './spend.ts';
import { memberLimitOf, withLimit } from './spend-limits.ts';

type Leases = OpenAccount['leases'];

/** A lease is for one key where a hard monthly limit is that key's or its member's, and for all other keys together. */
export const leaseScope = (account: OpenAccount, keyId: KeyId): KeyId | null =>
  entryOf(account.spend.keyLimits, keyId) === undefined && memberLimitOf(account, keyId) === null ? null : keyId;

/** What a lease is for: a key with a limit, or all others; requests that start before an instant; and whose they are. */
export interface LeaseTerms extends Pick<Lease, 'keyId' | 'requestsBeforeMs' | 'proxy' | 'epoch'> {
  /** How much of the time to come another proxy may have behind it already: by its clock, or knowing no lease since. */
  readonly othersAheadMs: number;
}

/** When the next usable grant expires: later requests cannot burn it, and come under other leases. Null: never. */
export function nextExpiry({ grants }: OpenAccount, nowMs: number): number | null {
  let next: number | null = null;
  for (const grant of grants) {
    const { expiresAtMs } = grant;
    if (expiresAtMs === null || grant.remaining === 0n || !isUsable(grant, nowMs)) continue;
    if (next === null || expiresAtMs < next) next = expiresAtMs;
  }
  return next;
}

/** Leases that the clock has not ended. */
export const activeLeases = (account: OpenAccount, nowMs: number): Lease[] =>
  Object.values(account.leases).filter(({ expiresAtMs }) => expiresAtMs > nowMs);

/** What can be spent now, whoever has it leased: usable credits less what debits left uncovered. May be below zero. */
export const spendable = (account: OpenAccount, nowMs: number): MicroUsd =>
  microUsd(usableCredits(account.grants, nowMs) - account.uncovered);

/**
 * What can be leased: what no proxy has of the credits, of the account's monthly limit and, for a key's scope, of the
 * key's and its member's. Never below zero. Nothing for requests before an instant that another's clock has passed: what that one has
 * leased since was free because no more would come from before it.
 */
export function freeCredit(account: OpenAccount, terms: LeaseTerms, nowMs: number): MicroUsd {
  const active = activeLeases(account, nowMs);
  const { requestsBeforeMs } = terms;
  if (requestsBeforeMs !== null && active.some(({ requestsFromMs }) => (requestsFromMs ?? 0) >= requestsBeforeMs))
    return NOTHING;
  const { credit, ofAccountLimit, ofMemberLimit, ofKeyLimit } = leftBeside(
    account,
    terms.keyId,
    { leases: active },
    nowMs,
  );
  let free: bigint = smaller(credit, leftToEarlier(account, terms, active, nowMs) ?? credit);
  for (const left of [ofAccountLimit, ofMemberLimit, ofKeyLimit]) if (left !== null) free = smaller(free, left);
  return microUsd(free < 0n ? 0n : free);
}

/**
 * What requests before an instant can have beside others' leases under which requests may start after it: these pay by what
 * is usable then, so as much of that has to be left as is leased, though the earlier ones may burn it first; and so at each
 * end of a grant from that instant on, for the later may start behind any of them. Null where there is no such lease, and
 * for an end that nobody is behind yet: who starts a request there later knows of this lease when it admits it. What the
 * leasing process has itself it compares by its own clock when it admits.
 */
function leftToEarlier(
  { grants }: OpenAccount,
  { requestsBeforeMs, proxy, epoch, othersAheadMs }: LeaseTerms,
  leases: readonly Lease[],
  nowMs: number,
): bigint | null {
  const mayBePassed = (endMs: number): boolean => endMs - nowMs <= othersAheadMs;
  if (requestsBeforeMs === null || !mayBePassed(requestsBeforeMs)) return null;
  const others = leases.filter((lease) => !(lease.proxy === proxy && lease.epoch === epoch));
  const usable = grants.filter((grant) => grant.remaining > 0n && isUsable(grant, nowMs));
  const sinceMs = Math.min(...leases.map(({ requestsFromMs }) => requestsFromMs ?? Number.NEGATIVE_INFINITY));
  const ends = usable.flatMap(({ expiresAtMs }) => (expiresAtMs === null ? [] : [expiresAtMs]));
  let least: bigint | null = null;
  for (const endMs of new Set([
    requestsBeforeMs,
    ...ends.filter((endMs) => endMs > requestsBeforeMs && mayBePassed(endMs)),
  ])) {
    const leasedLater = sumOfLeases(
      others.filter((lease) => (lease.requestsBeforeMs ?? Number.POSITIVE_INFINITY) > endMs),
    );
    if (leasedLater === 0n) continue;
    const left = burnedBefore(usable, { endMs, sinceMs }, leasedLater) - (sumOfLeases(leases) - leasedLater);
    if (least === null || left < least) least = left;
  }
  return least;
}

/**
 * How much is burned, in burn order, before of what outlasts an instant less is left than an amount, by requests of which the
 * first may have started at `sinceMs`: what came later that one burns only after what lasts.
 */
function burnedBefore(
  grants: readonly Grant[],
  { endMs, sinceMs }: { readonly endMs: number; readonly sinceMs: number },
  amount: bigint,
): bigint {
  const isLasting = ({ expiresAtMs }: Grant): boolean => expiresAtMs === null || expiresAtMs > endMs;
  let spare = grants.reduce((sum, grant) => (isLasting(grant) ? sum + grant.remaining : sum), -amount);
  let burned = 0n;
  for (const grant of grants) {
    if (isLasting(grant)) {
      if (grant.remaining > spare) return burned + (spare > 0n ? spare : 0n);
      spare -= grant.remaining;
    } else if (grant.effectiveAtMs > sinceMs) continue;
    burned += grant.remaining;
  }
  return burned;
}

/** Each below zero where a limit was set, or credit was lost, after the leases were given; null is no limit. */
interface CreditLeft {
  readonly credit: MicroUsd;
  readonly ofAccountLimit: MicroUsd | null;
  readonly ofMemberLimit: MicroUsd | null;
  readonly ofKeyLimit: MicroUsd | null;
}

/** Others' leases, and a process's own holds. */
interface Commitments {
  readonly leases: readonly Lease[];
  readonly holds?: HeldOfAccount;
}

/** What a process holds of an account, in sum and one by one. */
export interface HeldOfAccount {
  readonly amount: MicroUsd;
  readonly each: Iterable<StartedHold>;
}

const NO_HOLDS: HeldOfAccount = { amount: NOTHING, each: [] };

/**
 * What is left of the credits beside these leases and holds, and of the account's monthly limit and, for a key's scope,
 * of the key's and its member's, beside these leases. What grants will pay that have expired under them takes nothing of the credits.
 */
export function leftBeside(
  account: OpenAccount,
  scope: KeyId | null,
  { leases, holds = NO_HOLDS }: Commitments,
  nowMs: number,
): CreditLeft {
  const { accountLimit, keyLimits } = account.spend;
  const month = monthOfSpend(account.spend, monthOf(nowMs));
  const leased = sumOfLeases(leases);
  const keyLimit = scope === null ? undefined : entryOf(keyLimits, scope);
  const ofMember = scope === null ? null : memberLimitOf(account, scope);
  return {
    credit: microUsd(
      spendable(account, nowMs) + overdraftOf(account, nowMs) - takenOfCredits(account, { leases, holds }, nowMs),
    ),
    ofAccountLimit: accountLimit === null ? null : microUsd(accountLimit - month.account - leased),
    ofMemberLimit:
      ofMember === null
        ? null
        : microUsd(
            ofMember.limit -
              spentByMember(account, month, ofMember.member) -
              setAsideForMember(account, ofMember.member, leases),
          ),
    ofKeyLimit:
      scope === null || keyLimit === undefined
        ? null
        : microUsd(keyLimit - spentByKey(month, scope) - setAsideForKey(account, scope, leases)),
  };
}

/** What leases and holds take of the credits that can be spent now. */
export function takenOfCredits(
  { grants }: OpenAccount,
  { leases, holds = NO_HOLDS }: Commitments,
  nowMs: number,
): MicroUsd {
  const taken = sumOfLeases(leases) + holds.amount;
  if (taken === 0n) return NOTHING;
  const all = {
    *[Symbol.iterator]() {
      yield* leases.map(asHold);
      yield* holds.each;
    },
  };
  return microUsd(taken - paidByExpired(grants, all, nowMs));
}

/** All that is held under a lease, as one hold: its requests hold no more than it has. */
const asHold = ({ amount, requestsFromMs, requestsBeforeMs }: Lease): StartedHold => ({
  amount,
  firstStartMs: requestsFromMs ?? Number.NEGATIVE_INFINITY,
  lastStartMs: requestsFromMs === null || requestsBeforeMs === null ? Number.POSITIVE_INFINITY : requestsBeforeMs - 1,
});

/** What others than a process have leased of the account's credit; what is its own it knows by its claim. */
export const leasesOfOthers = (account: OpenAccount, isOwn: (lease: Lease) => boolean, nowMs: number): Lease[] =>
  activeLeases(account, nowMs).filter((lease) => !isOwn(lease));

/**
 * What a key could be debited under leases, without anything being leased anew: a lease of its own counts whole, one for
 * keys without a limit counts whole as long as the key has none, and afterwards with what is left from before.
 */
export function setAsideForKey(account: OpenAccount, keyId: KeyId, leases: readonly Lease[]): MicroUsd {
  const scope = leaseScope(account, keyId);
  return microUsd(leases.reduce((sum, lease) => sum + ofKey(lease, keyId, scope), 0n));
}

/**
 * The same for all keys of a member with a hard limit together, who have no more of a lease than it has: each of them has leases of its
 * own, and of those for keys without a limit what is left from before.
 */
export function setAsideForMember(account: OpenAccount, email: string, leases: readonly Lease[]): MicroUsd {
  const member = memberKey(email);
  const isOf = (keyId: string): boolean => memberKeyOf(account, keyId) === member;
  const ofLease = ({ keyId, amount, beforeLimit }: Lease): bigint => {
    if (keyId !== null) return isOf(keyId) ? amount : 0n;
    return smaller(
      amount,
      Object.entries(beforeLimit).reduce((sum, [key, most]) => (isOf(key) ? sum + most : sum), 0n),
    );
  };
  return microUsd(leases.reduce((sum, lease) => sum + ofLease(lease), 0n));
}

const ofKey = (lease: Lease, keyId: KeyId, scope: KeyId | null): bigint => {
  if (lease.keyId !== null) return lease.keyId === keyId ? lease.amount : 0n;
  return scope === null ? lease.amount : (lease.beforeLimit[keyId] ?? 0n);
};

/** A lease that is there grows and has the new expiry. */
export function withLease(leases: Leases, data: EventData<'CreditsLeased'>): Leases {
  const { leaseId, proxy, epoch, keyId, amount, expiresAt, requestsFrom, requestsBefore } = data;
  const before = leases[leaseId];
  const lease: Lease = {
    leaseId,
    proxy,
    epoch: before?.epoch ?? epoch,
    keyId: keyId ?? null,
    amount: keptAmount((before?.amount ?? 0n) + amount),
    // What is leased by who knows of a limit is not for the key that has it.
    beforeLimit: before?.beforeLimit ?? {},
    expiresAtMs: Date.parse(expiresAt),
    requestsFromMs: before === undefined ? msOf(requestsFrom) : before.requestsFromMs,
    requestsBeforeMs: msOf(requestsBefore),
  };
  return { ...leases, [leaseId]: lease };
}

const msOf = (instant: string | null): number | null => (instant === null ? null : Date.parse(instant));

/** What made a lease smaller: a debit under it, or its proxy's giving back. */
interface LeaseReduction {
  readonly leaseId?: LeaseId | undefined;
  readonly amount: MicroUsd;
  /** Of a debit. */
  readonly keyId?: KeyId;
}

/** A lease after a part was spent or given back; gone when used up. A debit may name one that has ended. */
export function withLeaseReduced(leases: Leases, { leaseId, amount, keyId }: LeaseReduction): Leases {
  const lease = leaseId === undefined ? undefined : leases[leaseId];
  if (lease === undefined) return leases;
  const { [lease.leaseId]: _changed, ...others } = leases;
  const left = lease.amount - amount;
  if (left <= 0n) return others;
  // No key can hold more of a lease than it has. What a debit takes, its key's requests under way hold no more.
  const beforeLimit = mapAmounts(lease.beforeLimit, (most, key) => smaller(key === keyId ? most - amount : most, left));
  return { ...others, [lease.leaseId]: { ...lease, amount: microUsd(left), beforeLimit } };
}

/**
 * The leases after a limit was set or lifted. Keys that had none could use the leases for such keys: what they have
 * is the most that their requests under way, and those that are admitted before a proxy knows of the limit, can take.
 */
export function withLimitSet(account: OpenAccount, set: EventData<'SpendLimitSet'>): Leases {
  const { keyId, member } = set;
  const after = { ...account, spend: withLimit(account.spend, set) };
  const concerned = keyId !== null ? [keyId] : member === null ? [] : keysOfMember(account, member);
  const changed = concerned.filter((key) => leaseScope(account, key) !== leaseScope(after, key));
  if (changed.length === 0) return account.leases;
  return Object.fromEntries(
    Object.entries(account.leases).map(([id, lease]) => {
      if (lease.keyId !== null) return [id, lease];
      const beforeLimit = { ...lease.beforeLimit };
      for (const key of changed)
        if (leaseScope(after, key) === null) delete beforeLimit[key];
        else beforeLimit[key] = lease.amount;
      return [id, { ...lease, beforeLimit }];
    }),
  );
}

export function withLeaseNarrowed(leases: Leases, { leaseId, keyId, atMost }: EventData<'LeaseNarrowed'>): Leases {
  const lease = leases[leaseId];
  if (lease === undefined) return leases;
  const beforeLimit = mapAmounts(lease.beforeLimit, (most, key) => (key === keyId ? smaller(most, atMost) : most));
  return { ...leases, [leaseId]: { ...lease, beforeLimit } };
}

export const sumOfLeases = (leases: readonly Lease[]): MicroUsd =>
  microUsd(leases.reduce((sum, { amount }) => sum + amount, 0n));

/** Amounts of nothing are left out. */
function mapAmounts(
  amounts: Lease['beforeLimit'],
  change: (amount: bigint, key: string) => bigint,
): Lease['beforeLimit'] {
  const entries = Object.entries(amounts);
  if (entries.length === 0) return amounts;
  const changed: Record<string, MicroUsd> = {};
  for (const [key, before] of entries) {
    const amount = change(before, key);
    if (amount > 0n) changed[key] = microUsd(amount);
  }
  return changed;
}

const smaller = (a: bigint, b: bigint): bigint => (a < b ? a : b);
