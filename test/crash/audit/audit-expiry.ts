import type { OwnGrant } from './burn-own.ts';
import type { AccountBooks } from './own-account.ts';
import type { ExpiredData, ReinstatedData, UsageData } from './stored-event.ts';

/**
 * An expiry takes all that its grant still holds, names the grant's own end, and is written after it; never while a
 * lease runs, because requests under it may still burn the grant.
 * @param atMs when it was written down; null where that is not known
 */
export function takeExpired(books: AccountBooks, expired: ExpiredData, atMs: number | null): void {
  const { grantId } = expired;
  const grant = grantOf(books, grantId);
  if (grant === undefined) return void books.faults.push(`${grantId}: expires, and was never granted`);
  const same = (what: string, got: unknown, expected: unknown): void => {
    if (got !== expected) books.faults.push(`${grantId}: ${what} is ${String(got)}, should be ${String(expected)}`);
  };
  same('what expires', expired.amount, String(grant.remaining));
  same('the end that its expiry names', Date.parse(expired.expiredAt), grant.expiresAtMs);
  if (atMs !== null && grant.expiresAtMs !== null && atMs < grant.expiresAtMs)
    books.faults.push(`${grantId}: written down as expired before its end`);
  for (const [leaseId, { left, untilMs }] of books.leases)
    if (atMs !== null && left > 0n && untilMs > atMs) books.faults.push(`${grantId}: expires while ${leaseId} runs`);
  books.removed += grant.remaining;
  grant.expired += grant.remaining;
  grant.expiredAtMs = grant.expiresAtMs;
  grant.remaining = 0n;
}

/** Nothing comes back that has not expired. It fills what was left uncovered first, as a grant does. */
export function takeReinstated(books: AccountBooks, back: ReinstatedData, atMs: number | null): void {
  const { grantId } = back;
  const [amount, endMs] = [BigInt(back.amount), Date.parse(back.expiresAt)];
  const grant = grantOf(books, grantId);
  if (grant === undefined) return void books.faults.push(`${grantId}: comes back, and was never granted`);
  if (amount <= 0n || amount > grant.expired)
    books.faults.push(`${grantId}: ${amount} come back, of ${grant.expired} that have expired`);
  if (grant.expiresAtMs === null || endMs < grant.expiresAtMs || (atMs !== null && endMs <= atMs))
    books.faults.push(`${grantId}: comes back until ${back.expiresAt}, which is no end for it`);
  const filled = amount < books.uncovered ? amount : books.uncovered;
  books.uncovered -= filled;
  books.removed -= amount;
  grant.expired -= amount;
  grant.remaining += amount - filled;
  grant.expiresAtMs = endMs;
}

/** What a request would have been paid from was not to expire while it was under way. */
export function auditUnderWay(books: AccountBooks, { requestId, billable, startedAt }: UsageData): void {
  const startedAtMs = Date.parse(startedAt);
  for (const { grantId, expired, effectiveAtMs, expiredAtMs } of billable ? books.grants : [])
    if (expired > 0n && effectiveAtMs <= startedAtMs && startedAtMs < (expiredAtMs ?? 0))
      books.faults.push(`${requestId}: ${grantId} expired while it was under way`);
}

const grantOf = ({ grants }: AccountBooks, id: string): OwnGrant | undefined =>
  grants.find(({ grantId }) => grantId === id);
