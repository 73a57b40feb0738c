import { burnsBefore } from './burn-own.ts';
import { type AccountBooks, compare, compareAmount, tell } from './own-account.ts';
import type { ExpiredData, ReinstatedData, UsageData } from './stored-event.ts';

/**
 * An expiry takes all that its grant still holds, names the grant's own end, and is written after it; never while a
 * lease of before runs, because requests under it may still burn the grant.
 * @param atMs when it was written down; null where that is not known
 */
export function takeExpired(books: AccountBooks, expired: ExpiredData, atMs: number | null): void {
  const { grantId } = expired;
  const grant = books.grantOf.get(grantId);
  if (grant === undefined) return void tell(books, `${grantId}: expires, and was never granted`);
  compareAmount(books, `${grantId}: what expires`, expired.amount, grant.remaining);
  const end = grant.expiresAtMs === null ? 'never' : new Date(grant.expiresAtMs).toISOString();
  compare(books, `${grantId}: the end that its expiry names`, expired.expiredAt, end);
  if (atMs !== null && grant.expiresAtMs !== null && atMs < grant.expiresAtMs)
    tell(books, `${grantId}: written down as expired before its end`);
  // Under one that began after its end no request burns it.
  for (const [leaseId, { left, untilMs, requestsFromMs }] of books.leases)
    if (atMs !== null && left > 0n && untilMs > atMs && (requestsFromMs ?? 0) < (grant.expiresAtMs ?? 0))
      tell(books, `${grantId}: expires while ${leaseId} runs`);
  const amount = BigInt(expired.amount);
  books.removed += amount;
  grant.expired += amount;
  grant.expiredAtMs = grant.expiresAtMs;
  grant.remaining = amount > grant.remaining ? 0n : grant.remaining - amount;
}

/** Nothing comes back that has not expired. It fills what was left uncovered first, as a grant does. */
export function takeReinstated(books: AccountBooks, back: ReinstatedData, atMs: number | null): void {
  const { grantId } = back;
  const [amount, endMs] = [BigInt(back.amount), Date.parse(back.expiresAt)];
  const grant = books.grantOf.get(grantId);
  if (grant === undefined) return void tell(books, `${grantId}: comes back, and was never granted`);
  if (amount <= 0n || amount > grant.expired)
    tell(books, `${grantId}: ${amount} micro-USD come back, of ${grant.expired} micro-USD that have expired`);
  if (grant.expiresAtMs === null || endMs < grant.expiresAtMs || (atMs !== null && endMs <= atMs))
    tell(books, `${grantId}: comes back until ${back.expiresAt}, which is no end for it`);
  const filled = amount < books.uncovered ? amount : books.uncovered;
  books.uncovered -= filled;
  books.removed -= amount;
  grant.expired -= amount;
  grant.remaining += amount - filled;
  grant.expiresAtMs = endMs;
  books.grants.sort(burnsBefore);
}

/**
 * What a request would have been paid from was not to expire while it was under way. One whose machine stood still until
 * then holds nothing, and nothing pays for it.
 */
export function auditUnderWay(books: AccountBooks, { requestId, billable, startedAt, hold }: UsageData): void {
  if (!billable || books.removed === 0n || hold === '0') return;
  const startedAtMs = Date.parse(startedAt);
  for (const { grantId, expired, effectiveAtMs, expiredAtMs } of books.grants)
    if (expired > 0n && effectiveAtMs <= startedAtMs && startedAtMs < (expiredAtMs ?? 0))
      tell(books, `${requestId}: ${grantId} expired while it was under way`);
}
