import type { GrantId } from '../../contracts/ids.ts';
import { type MicroUsd, microUsd } from '../../contracts/money.ts';
import type { Grant } from './account-state.ts';
import { monthOf } from './month.ts';
import { type GrantShare, SharesRoom } from './shares-room.ts';

/** A request's own instants, as its usage has them. */
interface RequestInstants {
  readonly startedAtMs: number;
  readonly finishedAtMs: number;
}

/**
 * Takes what a request costs from the grants; `uncovered` is what they do not hold, or what one event has no room to say
 * (shares-room.ts). Three times in burn order (What holds, 17):
 *
 *   1. what was usable when the request started, also where it has expired since;
 *   2. what was usable when it ended: a grant that came meanwhile pays before anything is owed;
 *   3. what else came after the start, as far as it is there already: a grant that comes later fills first what is
 *      uncovered, and which of the two was written first must not decide; and what came and expired meanwhile was the
 *      account's to spend, and would be lost.
 *
 * Only the request's instants count, never the time of the append: a decision that is made again on the same state is
 * the same, and whether a debit waits for a log that is away changes nothing.
 */
export function burnFor(
  grants: readonly Grant[],
  amount: MicroUsd,
  { startedAtMs, finishedAtMs }: RequestInstants,
): { shares: readonly GrantShare[]; uncovered: MicroUsd } {
  const room = new SharesRoom();
  const atStart = burn(grants, amount, room, (grant) => isUsable(grant, startedAtMs));
  if (atStart.uncovered === 0n) return atStart;
  const atEnd = burn(
    grants,
    atStart.uncovered,
    room,
    (grant) => !isUsable(grant, startedAtMs) && isUsable(grant, finishedAtMs),
  );
  const later = burn(
    grants,
    atEnd.uncovered,
    room,
    (grant) => grant.effectiveAtMs > startedAtMs && !isUsable(grant, finishedAtMs),
  );
  return { shares: [...atStart.shares, ...atEnd.shares, ...later.shares], uncovered: later.uncovered };
}

/**
 * Takes an amount from what can be spent at an instant, and what that does not hold from what can be spent only later: a debt
 * is paid by all credits that are not over, as it is by a grant that comes, whenever that begins.
 */
export function payAt(
  grants: readonly Grant[],
  amount: MicroUsd,
  atMs: number,
): {
  readonly now: readonly GrantShare[];
  /** What `now` lacks. */
  readonly uncovered: MicroUsd;
  readonly later: readonly GrantShare[];
} {
  const room = new SharesRoom();
  const { shares: now, uncovered } = burn(grants, amount, room, (grant) => isUsable(grant, atMs));
  const { shares: later } = burn(grants, uncovered, room, (grant) => grant.effectiveAtMs > atMs);
  return { now, uncovered, later };
}

/** Takes an amount from some of the grants, in burn order, as far as there is room to say so. */
function burn(
  grants: readonly Grant[],
  amount: MicroUsd,
  room: SharesRoom,
  isTaken: (grant: Grant) => boolean,
): { shares: readonly GrantShare[]; uncovered: MicroUsd } {
  const shares: GrantShare[] = [];
  let left: bigint = amount;
  for (const grant of grants) {
    if (left === 0n) break;
    if (grant.remaining === 0n || !isTaken(grant)) continue;
    const share = { grantId: grant.grantId, amount: microUsd(grant.remaining < left ? grant.remaining : left) };
    if (!room.take(share)) break;
    shares.push(share);
    left -= share.amount;
  }
  return { shares, uncovered: microUsd(left) };
}

/** Whether a grant can be spent at an instant: from `effectiveAt` (inclusive) to `expiresAt` (exclusive). */
export const isUsable = (grant: Grant, atMs: number): boolean => grant.effectiveAtMs <= atMs && !isExpired(grant, atMs);

export const isExpired = (grant: Grant, atMs: number): boolean =>
  grant.expiresAtMs !== null && grant.expiresAtMs <= atMs;

/** When the first of the credits that are left end; null where none ever do. */
export function firstEndOf(grants: readonly Pick<Grant, 'remaining' | 'expiresAtMs'>[]): number | null {
  let firstMs: number | null = null;
  for (const { remaining, expiresAtMs } of grants)
    if (remaining > 0n && expiresAtMs !== null && (firstMs === null || expiresAtMs < firstMs)) firstMs = expiresAtMs;
  return firstMs;
}

/** Whether some of the credits that are left have ended when a month has. */
export function someEndBy(grants: Parameters<typeof firstEndOf>[0], month: string): boolean {
  const endMs = firstEndOf(grants);
  return endMs !== null && monthOf(endMs) <= month;
}

/** What usable grants hold at an instant, computed from the clock and never from a sweeper's having run. */
export function usableCredits(grants: readonly Grant[], atMs: number): MicroUsd {
  let sum = 0n;
  for (const grant of grants) if (isUsable(grant, atMs)) sum += grant.remaining;
  return microUsd(sum);
}

/** A grant's place changes with its end alone (`withReinstated`), so the list is kept in burn order. */
export function withGrant(grants: readonly Grant[], added: Grant): Grant[] {
  const last = grants.at(-1);
  // Nearly every grant comes after the others.
  const isLast = last === undefined || burnOrder(added, last) >= 0;
  const index = isLast ? -1 : grants.findIndex((grant) => burnOrder(added, grant) < 0);
  return index === -1 ? [...grants, added] : [...grants.slice(0, index), added, ...grants.slice(index)];
}

/** Priority, expiry (none last), zero cost basis first, effectiveAt, grantId (interface, 5.5). */
export function burnOrder(a: Grant, b: Grant): number {
  return (
    a.priority - b.priority ||
    orderOfExpiry(a.expiresAtMs, b.expiresAtMs) ||
    Number(a.costBasis !== 0n) - Number(b.costBasis !== 0n) ||
    a.effectiveAtMs - b.effectiveAtMs ||
    (a.grantId < b.grantId ? -1 : a.grantId > b.grantId ? 1 : 0)
  );
}

function orderOfExpiry(a: number | null, b: number | null): number {
  if (a === b) return 0;
  if (a === null) return 1;
  return b === null ? -1 : a - b;
}

/** A negative amount is given back. @throws Error for a share of no grant, or more or less than it can hold */
export function withoutShares(grants: readonly Grant[], shares: readonly GrantShare[]): Grant[] {
  const changed = [...grants];
  const indexOf = indexIn(grants, shares.length);
  for (const share of shares) {
    const index = indexOf(share.grantId);
    const remaining = remainingAfter(changed[index], share);
    changed[index] = { ...(changed[index] as Grant), remaining };
  }
  return changed;
}

/** @throws Error where there is no such grant, or it would hold less than nothing, or more than it was of */
export function remainingAfter(grant: Grant | undefined, share: GrantShare): MicroUsd {
  if (grant === undefined) throw new Error(`no grant ${share.grantId}`);
  const remaining = grant.remaining - share.amount;
  if (remaining < 0n || remaining > grant.amount)
    throw new Error(`grant ${grant.grantId} of ${grant.amount} would hold ${remaining} micro-USD`);
  return microUsd(remaining);
}

/** A grant after what was left of it was written down as expired. @throws Error as `withoutShares`. */
export const withExpired = (grants: readonly Grant[], share: GrantShare): Grant[] =>
  withoutShares(grants, [share]).map((grant) =>
    grant.grantId === share.grantId ? { ...grant, expired: microUsd(grant.expired + share.amount) } : grant,
  );

interface Reinstatement extends GrantShare {
  /** The grant's end from here on. */
  readonly expiresAtMs: number;
  /** What of the amount fills what was uncovered, and can be spent no more. */
  readonly filled: MicroUsd;
}

/** A grant that has back what had expired of it; in its new place where it has a new end. @throws Error as `withoutShares`. */
export function withReinstated(
  grants: readonly Grant[],
  { grantId, amount, expiresAtMs, filled }: Reinstatement,
): Grant[] {
  const given = withoutShares(grants, [{ grantId, amount: microUsd(filled - amount) }]);
  const grant = given.find((one) => one.grantId === grantId);
  if (grant === undefined || grant.expired < amount)
    throw new Error(`of grant ${grantId} ${grant?.expired ?? 0n} micro-USD have expired, not ${amount}`);
  const changed = { ...grant, expired: microUsd(grant.expired - amount), expiresAtMs };
  return withGrant(
    given.filter((one) => one !== grant),
    changed,
  );
}

/** Where each grant stands; -1 is nowhere. Of thousands of shares each is not looked for anew. */
function indexIn(grants: readonly Grant[], lookUps: number): (grantId: GrantId) => number {
  if (lookUps === 1) return (grantId) => grants.findIndex((grant) => grant.grantId === grantId);
  const places = new Map(grants.map(({ grantId }, index) => [grantId, index]));
  return (grantId) => places.get(grantId) ?? -1;
}
