import { compareReturn, standingOf, takeReturn, tellUnreasoned } from './audit-coming-back.ts';
import { areSame, isSameShare, monthOf, takeShares, textOfShares } from './audit-debit.ts';
import { attemptOfGrant, gone, isWithMoney } from './audit-refunds.ts';
import { burnNow, burnOwn, type OwnShare } from './burn-own.ts';
import { type AccountBooks, balanceOf, compare, compareAmount, tell } from './own-account.ts';
import type { AdjustedData, GrantData, RestoredData, ReversedData, RevokedGrantData } from './stored-event.ts';

/** What was paid may go back where it is spent already; the rest is then owed. */
const OWING: readonly string[] = ['refund', 'dispute'];

export function takeRevoked(books: AccountBooks, revoked: RevokedGrantData): void {
  const { revocationId, grantId, cause } = revoked;
  const [amount, taken, uncovered] = [BigInt(revoked.amount), BigInt(revoked.taken), BigInt(revoked.uncovered)];
  tellUnreasoned(books, revocationId, revoked);
  if (books.following === null && books.returned.has(revocationId))
    tell(books, `${revocationId}: is the id of a refund or a dispute, which revokes in its own command`);
  books.following = books.following?.then ?? null;
  if (books.revocations.has(revocationId)) tell(books, `${revocationId}: is made twice`);
  const grant = books.grantOf.get(grantId);
  if (grant === undefined) return void tell(books, `${revocationId}: revokes ${grantId}, which was never granted`);
  if (amount === 0n) tell(books, `${revocationId}: revokes nothing`);
  const before = books.revoked.get(grantId) ?? 0n;
  const isOver = grant.expiresAtMs !== null && grant.expiresAtMs <= Date.parse(revoked.revokedAt);
  const held = isOver ? 0n : grant.remaining;
  const left = grant.amount - before;
  // Before, what had come back in the place of what was revoked could be revoked once more.
  const isBounded = OWING.includes(cause) || (revoked.setOff !== undefined && left < held);
  const most = isBounded ? left : held;
  if (amount > most) tell(books, `${revocationId}: revokes of ${grantId}`, amount, `at most ${most}`, 'micro-USD');
  const own = amount > held ? held : amount;
  compareAmount(books, `${revocationId}: what ${grantId} held of it`, taken, own);
  compareAmount(books, `${revocationId}: what it makes owed`, uncovered, amount - own);
  grant.remaining = taken > grant.remaining ? 0n : grant.remaining - taken;
  grant.held += taken;
  const { revokedAt: at } = revoked;
  const { shares } = burnOwn(books.grants, amount - own, { startedAt: at, finishedAt: at });
  books.uncovered += uncovered - paidOff(books, revocationId, revoked, shares);
  const paidBy = (revoked.setOff ?? []).map((share) => ({ grantId: share.grantId, amount: BigInt(share.amount) }));
  books.removed += amount;
  books.revocations.set(revocationId, {
    grantId,
    cause,
    amount: uncovered + taken,
    uncovered,
    taken,
    paidBy,
    given: 0n,
  });
  books.revoked.set(grantId, before + uncovered + taken);
  followBalance(books, revocationId, revoked.balanceAfter);
}

/** What other credits pay at once of what is owed then: all that are not over, those that begin later behind the others. */
function paidOff(
  books: AccountBooks,
  id: string,
  { setOff }: Pick<RevokedGrantData, 'setOff'>,
  own: readonly OwnShare[],
): bigint {
  // Of before any did.
  if (setOff === undefined) return 0n;
  if (!areSame(setOff, own, isSameShare))
    tell(books, `${id}: what pays at once`, textOfShares(setOff), textOfShares(own));
  takeShares(books, setOff);
  return setOff.reduce((sum, { amount }) => sum + BigInt(amount), 0n);
}

export function takeRestored(books: AccountBooks, restored: RestoredData): void {
  const { restorationId, revocationId, grantId, cause } = restored;
  const amount = BigInt(restored.amount);
  tellUnreasoned(books, restorationId, restored);
  if (books.restorations.has(restorationId)) tell(books, `${restorationId}: is made twice`);
  books.restorations.add(restorationId);
  const revocation = books.revocations.get(revocationId);
  if (revocation === undefined) tell(books, `${restorationId}: undoes ${revocationId}, which there is not`);
  const { uncovered: owing, taken, paidBy } = revocation ?? { uncovered: 0n, taken: 0n, paidBy: [] };
  if (revocation !== undefined) {
    compare(books, `${restorationId}: the grant of ${revocationId}`, grantId, revocation.grantId);
    compare(books, `${restorationId}: the cause of ${revocationId}`, cause, revocation.cause);
  }
  if (amount === 0n) tell(books, `${restorationId}: gives nothing back`);
  if (amount > owing + taken)
    tell(books, `${restorationId}: gives back of ${revocationId}`, amount, `at most ${owing + taken}`, 'micro-USD');
  const attempt = attemptOfGrant(books, grantId);
  const paidFor = attempt === undefined ? amount : (books.revoked.get(grantId) ?? 0n) - gone(books, attempt);
  if (!OWING.includes(cause) && amount > paidFor)
    tell(books, `${restorationId}: gives back of what is paid for`, amount, `at most ${paidFor}`, 'micro-USD');
  const uncovered = amount < owing ? amount : owing;
  const grant = books.grantOf.get(grantId);
  const back = amount - uncovered;
  if (grant !== undefined) grant.held = back > grant.held ? 0n : grant.held - back;
  const ofTaken = back > taken ? taken : back;
  if (revocation !== undefined) {
    revocation.uncovered -= uncovered;
    revocation.taken -= ofTaken;
    if (attempt === undefined || !isWithMoney(attempt, restorationId)) revocation.given += amount;
    const left = (books.revoked.get(revocation.grantId) ?? 0n) - uncovered - ofTaken;
    books.revoked.set(revocation.grantId, left);
  }
  const own = {
    uncovered,
    shares: [{ grantId, amount: back }],
    paidBy: lastFirst(paidBy, owing),
    at: restored.restoredAt,
  };
  compareReturn(standingOf(books), restored, own, (what, found, expected, unit) =>
    tell(books, `${restorationId}: ${what}`, found, expected, unit),
  );
  takeReturn(books, restorationId, restored, restored.restoredAt);
  books.removed -= amount;
  followBalance(books, restorationId, restored.balanceAfter);
}

/** So much of it as there is still to be given back, whoever paid last before the others. */
function lastFirst(paidBy: readonly OwnShare[], owing: bigint): OwnShare[] {
  let room = owing;
  const still = paidBy.map(({ grantId, amount }) => {
    const part = amount > room ? room : amount;
    room -= part;
    return { grantId, amount: part };
  });
  return still.toReversed();
}

/** What the debit was is compared when it is looked up (audit-reversals.ts): here what follows from the reversal alone. */
export function takeReversed(books: AccountBooks, reversed: ReversedData): void {
  const { reversalId, keyId, month } = reversed;
  const amount = BigInt(reversed.amount);
  tellUnreasoned(books, reversalId, reversed);
  if (books.reversals.some(({ data }) => data.reversalId === reversalId)) tell(books, `${reversalId}: is made twice`);
  if (amount === 0n) tell(books, `${reversalId}: reverses nothing`);
  books.reversals.push({ revision: books.revision, data: reversed, before: standingOf(books) });
  takeReturn(books, reversalId, reversed, reversed.reversedAt);
  const spent = monthOf(books, month);
  const ofKey = (spent.keys.get(keyId) ?? 0n) - amount;
  compareAmount(books, `${reversalId}: month to date`, reversed.monthToDateAfter, spent.account - amount);
  compareAmount(books, `${reversalId}: key's month to date`, reversed.keyMonthToDateAfter, ofKey);
  spent.account = BigInt(reversed.monthToDateAfter);
  spent.keys.set(keyId, BigInt(reversed.keyMonthToDateAfter));
  books.reversed += amount;
  followBalance(books, reversalId, reversed.balanceAfter);
}

/** Upwards it is a grant, on the terms that all of them have. */
export function takeAdjusted(books: AccountBooks, adjusted: AdjustedData, takeGrant: (grant: GrantData) => void): void {
  const { adjustmentId, direction, amount, adjustedAt } = adjusted;
  tellUnreasoned(books, adjustmentId, adjusted);
  if (books.adjustments.has(adjustmentId)) tell(books, `${adjustmentId}: is made twice`);
  books.adjustments.add(adjustmentId);
  if (amount === '0') tell(books, `${adjustmentId}: adjusts nothing`);
  const isUp = direction === 'up';
  const own = isUp ? { shares: [], uncovered: 0n } : burnNow(books.grants, BigInt(amount), adjustedAt);
  const all = isUp ? own : burnOwn(books.grants, BigInt(amount), { startedAt: adjustedAt, finishedAt: adjustedAt });
  if (!areSame(adjusted.shares, own.shares, isSameShare))
    tell(books, `${adjustmentId}: what it takes`, textOfShares(adjusted.shares), textOfShares(own.shares));
  compareAmount(books, `${adjustmentId}: what it makes owed`, adjusted.uncovered, own.uncovered);
  if (isUp) {
    const terms = { source: 'adjustment', costBasis: '0', priority: 100, effectiveAt: adjustedAt, expiresAt: null };
    takeGrant({ grantId: adjustmentId, amount, ...terms });
  } else {
    takeShares(books, adjusted.shares);
    const later = all.shares.slice(own.shares.length);
    books.uncovered += BigInt(adjusted.uncovered) - paidOff(books, adjustmentId, adjusted, later);
    books.removed += BigInt(amount);
  }
  followBalance(books, adjustmentId, adjusted.balanceAfter);
}

/** It goes on from what is stated. */
function followBalance(books: AccountBooks, id: string, stated: string): void {
  const balance = balanceOf(books);
  compareAmount(books, `${id}: balance after`, stated, balance);
  books.removed += balance - BigInt(stated);
}
