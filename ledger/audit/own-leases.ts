import { isUsableAt, type OwnGrant } from './burn-own.ts';
import { type AccountBooks, compare, type OwnLease, type OwnLeases, type OwnMonth, tell } from './own-account.ts';
import { memberLimit, memberOf, spentBy } from './own-limits.ts';
import { isBefore, isBeforeBy, KNOWN_LATE_MS } from './own-times.ts';
import type { DebitData, LeasedData, NarrowedData, ReleasedData, UsageData } from './stored-event.ts';

/**
 * A lease begins or grows by what is free: with it all that is leased is no more than what there is to spend, and than
 * what limits leave of the month. Of what has expired only so much counts as the leases from before can still burn.
 */
export function takeLeased(books: AccountBooks, leased: LeasedData, recordedMs: number | null): void {
  const { leaseId, requestsFrom = null, requestsBefore = null } = leased;
  const atMs = requestsFrom === null ? recordedMs : Date.parse(requestsFrom);
  const known = books.leases.get(leaseId);
  const amount = BigInt(leased.amount);
  const untilMs = Date.parse(leased.expiresAt);
  if (known !== undefined) compare(books, `${leaseId}: its proxy`, leased.proxy, known.proxy);
  const isThere = known !== undefined && (atMs === null || known.untilMs > atMs);
  if (!isThere && amount === 0n) tell(books, `${leaseId}: is renewed, and is not there`);
  if (atMs !== null && untilMs <= atMs) tell(books, `${leaseId}: has ended when it is leased`, leased.expiresAt);
  if (atMs !== null && amount > 0n) auditFree(books, leased, atMs);
  takeTerms(books, leased);
  books.leases.set(leaseId, {
    proxy: leased.proxy,
    requestsFromMs: known === undefined ? msOf(requestsFrom) : known.requestsFromMs,
    left: (known?.left ?? 0n) + amount,
    untilMs,
    keyId: leased.keyId ?? null,
    requestsBeforeMs: requestsFrom === null ? null : msOf(requestsBefore),
    beforeLimit: known?.beforeLimit ?? new Map(),
  });
}

/** What it is for stays the same, but that it ends later each time. */
function takeTerms(books: AccountBooks, leased: LeasedData): void {
  const { leaseId, expiresAt, epoch = 0, keyId = null, requestsFrom = null, requestsBefore = null } = leased;
  if (keyId !== null && !books.life.keys.has(keyId) && (requestsFrom === null || !books.isOfLost(requestsFrom)))
    tell(books, `${leaseId}: is for ${keyId}, which was never issued`);
  const known = books.leaseTerms.get(leaseId);
  if (known !== undefined) compare(books, `${leaseId}: its key`, keyId ?? 'none', known.keyId ?? 'none');
  const isOfOne = known === undefined ? epoch > 0 : known.isOfOne && known.epoch === epoch;
  const from = known === undefined ? requestsFrom : known.from;
  const until = known === undefined || known.until < expiresAt ? expiresAt : known.until;
  books.leaseTerms.set(leaseId, { keyId, from, before: requestsBefore, until, epoch, isOfOne });
  if (until > books.leasedUntil) books.leasedUntil = until;
  tellUnleased(books, leaseId, null);
}

/** Who has a lease before and after a request leases all the while, and where one proxy does all of them do. */
function noteUnleased(books: AccountBooks, { requestId, startedAt }: UsageData): void {
  if (startedAt >= books.leasedUntil || books.isOfLost(startedAt)) return;
  for (const [leaseId, { from }] of books.leaseTerms) {
    if (from === null || !isBefore(from, startedAt)) continue;
    const first = books.unleased.get(leaseId) ?? { requestId, startedAt, more: -1 };
    books.unleased.set(leaseId, { ...first, more: first.more + 1 });
  }
}

/** @param startedAt of a request under the lease, by another clock perhaps; null where it goes on behind them in the log */
function tellUnleased(books: AccountBooks, leaseId: string, startedAt: string | null): void {
  const found = books.unleased.get(leaseId);
  if (found === undefined || books.leaseTerms.get(leaseId)?.isOfOne !== true) return;
  if (startedAt !== null && !isBefore(found.startedAt, startedAt)) return;
  books.unleased.delete(leaseId);
  const more = found.more === 0 ? '' : ` (as ${found.more} more)`;
  tell(books, `${found.requestId}: is paid for without a lease${more}, and ${leaseId} was there, and goes on`);
}

const msOf = (instant: string | null): number | null => (instant === null ? null : Date.parse(instant));

function auditFree(books: AccountBooks, leased: LeasedData, atMs: number): void {
  const { leaseId, amount, keyId, requestsBefore = null } = leased;
  const active = [...books.leases.values()].filter(({ untilMs }) => untilMs > atMs);
  const beforeMs = msOf(requestsBefore);
  // What was free for later requests was so because none would come from before.
  if (beforeMs !== null && active.some(({ requestsFromMs }) => (requestsFromMs ?? 0) >= beforeMs))
    tell(books, `${leaseId}: is for requests before ${requestsBefore}, and there is one for those from then on`);
  const sum = active.reduce((all, { left }) => all + left, 0n) + BigInt(amount);
  const there = spendable(books, active, atMs);
  if (sum > there) tell(books, `${leaseId}: what is leased beside what is free`, sum, there, 'micro-USD');
  const month = books.months.get(new Date(atMs).toISOString().slice(0, 7));
  const limit = books.limits.get('account');
  const left = limit?.isHard === true ? limit.amount - (month?.account ?? 0n) : null;
  if (left !== null && sum > left)
    tell(books, `${leaseId}: what is leased beside the account's limit`, sum, left, 'micro-USD');
  if (keyId === undefined) return;
  auditFreeOfMember(books, { leaseId, keyId, amount }, active, month);
  const keyLimit = books.limits.get(keyId);
  if (keyLimit?.isHard !== true) return;
  const ofKey = active.reduce(
    (all, lease) => all + (lease.keyId === keyId ? lease.left : (lease.beforeLimit.get(keyId) ?? 0n)),
    BigInt(amount),
  );
  const keyLeft = keyLimit.amount - (month?.keys.get(keyId) ?? 0n);
  if (ofKey > keyLeft)
    tell(books, `${leaseId}: what is leased beside the limit of ${keyId}`, ofKey, keyLeft, 'micro-USD');
}

/** All keys of a member have no more of one lease than it has. */
function auditFreeOfMember(
  books: AccountBooks,
  { leaseId, keyId, amount }: { readonly leaseId: string; readonly keyId: string; readonly amount: string },
  active: readonly OwnLease[],
  month: OwnMonth | undefined,
): void {
  const limit = memberLimit(books, keyId);
  if (limit === null) return;
  const isOfMember = (id: string): boolean => memberOf(books, id) === limit.whose;
  const ofLease = ({ keyId: of, left, beforeLimit }: OwnLease): bigint => {
    if (of !== null) return isOfMember(of) ? left : 0n;
    let most = 0n;
    for (const [id, before] of beforeLimit) if (isOfMember(id)) most += before;
    return most < left ? most : left;
  };
  const sum = active.reduce((all, lease) => all + ofLease(lease), BigInt(amount));
  const left = limit.amount - spentBy(books, limit.whose, month);
  if (sum > left) tell(books, `${leaseId}: what is leased beside the limit of ${limit.whose}`, sum, left, 'micro-USD');
}

/** At the most. */
function spendable({ grants, uncovered, plan }: AccountBooks, active: readonly OwnLease[], atMs: number): bigint {
  const sumOf = (some: readonly OwnGrant[]): bigint => some.reduce((sum, { remaining }) => sum + remaining, 0n);
  const expired = grants.filter(
    ({ remaining, expiresAtMs }) => remaining > 0n && expiresAtMs !== null && expiresAtMs <= atMs,
  );
  const newest = Math.max(...expired.map(({ expiresAtMs }) => expiresAtMs ?? 0));
  const older = active
    .filter(({ requestsBeforeMs }) => requestsBeforeMs !== null && requestsBeforeMs <= newest)
    .reduce((sum, { left }) => sum + left, 0n);
  const paid = sumOf(expired) < older ? sumOf(expired) : older;
  return sumOf(grants.filter((grant) => isUsableAt(grant, atMs))) - uncovered + paid + (plan?.overdraft ?? 0n);
}

/** What is given back was leased, and is given back by who has it. */
export function takeReleased(books: AccountBooks, { proxy, leaseId, amount }: ReleasedData): void {
  const lease = books.leases.get(leaseId);
  if (lease === undefined)
    return void tell(books, `${leaseId}: is given back, and is not there`, amount, null, 'micro-USD');
  compare(books, `${leaseId}: its proxy`, proxy, lease.proxy);
  if (BigInt(amount) > lease.left || amount === '0')
    tell(books, `${leaseId}: ${amount} micro-USD are given back, and it has ${lease.left} micro-USD`);
  reduce(books.leases, leaseId, BigInt(amount), null);
}

/**
 * A debit may name a lease that has ended; it makes one that is there smaller.
 * @param usage of its request; null where that is not known
 */
export function takeFromLease(books: AccountBooks, debit: DebitData, usage: UsageData | null): void {
  const { leaseId, keyId, amount } = debit;
  if (leaseId === undefined) {
    // Where nothing is held, nothing is leased.
    if (usage !== null && amount !== '0') noteUnleased(books, usage);
    return;
  }
  if (usage !== null && !books.isOfLost(usage.startedAt)) auditTerms(books, leaseId, usage);
  if (usage !== null) tellUnleased(books, leaseId, usage.startedAt);
  reduce(books.leases, leaseId, BigInt(amount), keyId);
}

/** Whether a lease is for such a request at all. */
function auditTerms(books: AccountBooks, leaseId: string, { requestId, keyId, startedAt }: UsageData): void {
  const terms = books.leaseTerms.get(leaseId);
  if (terms === undefined) return void tell(books, `${requestId}: its lease, ${leaseId}, never was`);
  const { from, before, until } = terms;
  const limitedSince = books.life.keys.get(keyId)?.limitedSince ?? null;
  if (terms.keyId !== null) compare(books, `${requestId}: whose key its lease, ${leaseId}, is for`, keyId, terms.keyId);
  else if (limitedSince !== null && isBeforeBy(limitedSince, startedAt, KNOWN_LATE_MS))
    tell(books, `${requestId}: its lease, ${leaseId}, is for keys without a limit, and ${keyId} has one`, limitedSince);
  const end = before !== null && before < until ? before : until;
  if ((from !== null && isBefore(startedAt, from)) || isBefore(end, startedAt))
    tell(
      books,
      `${requestId}: its lease, ${leaseId}, is for others`,
      startedAt,
      `from ${from ?? 'the first'} to ${end}`,
    );
}

export function takeNarrowed(books: AccountBooks, { proxy, leaseId, keyId, atMost }: NarrowedData): void {
  const lease = books.leases.get(leaseId);
  if (lease !== undefined) compare(books, `${leaseId}: its proxy`, proxy, lease.proxy);
  const beforeLimit = lease?.beforeLimit;
  const before = beforeLimit?.get(keyId);
  if (before === undefined || before <= BigInt(atMost))
    tell(books, `${leaseId}: is narrowed for ${keyId} to ${atMost} micro-USD, from ${before ?? 0n} micro-USD`);
  else beforeLimit?.set(keyId, BigInt(atMost));
}

/** A key that a limit binds may still take what leases for such as have none hold; one that none binds any more, all of it. */
export function noteKeyLimit(leases: OwnLeases, keyId: string, isLimited: boolean): void {
  for (const lease of leases.values()) {
    if (lease.keyId !== null) continue;
    if (isLimited) lease.beforeLimit.set(keyId, lease.left);
    else lease.beforeLimit.delete(keyId);
  }
}

function reduce(leases: OwnLeases, leaseId: string, amount: bigint, keyId: string | null): void {
  const lease = leases.get(leaseId);
  if (lease === undefined) return;
  lease.left -= amount;
  if (lease.left <= 0n) leases.delete(leaseId);
  for (const [key, before] of lease.beforeLimit) {
    const most = key === keyId ? before - amount : before;
    const left = most < lease.left ? most : lease.left;
    if (left > 0n) lease.beforeLimit.set(key, left);
    else lease.beforeLimit.delete(key);
  }
}
