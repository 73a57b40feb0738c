import { auditComeBack, tellUnreasoned } from './audit-coming-back.ts';
import { type AccountBooks, balanceOf, compare, compareAmount, tell } from './own-account.ts';
import type { RestoredData, RevokedGrantData } from './stored-event.ts';

/** What was paid may go back where it is spent already; the rest is then owed. */
const OWING: readonly string[] = ['refund', 'dispute'];

export function takeRevoked(books: AccountBooks, revoked: RevokedGrantData): void {
  const { revocationId, grantId, cause } = revoked;
  const [amount, taken, uncovered] = [BigInt(revoked.amount), BigInt(revoked.taken), BigInt(revoked.uncovered)];
  tellUnreasoned(books, revocationId, revoked);
  if (books.revocations.has(revocationId)) tell(books, `${revocationId}: is made twice`);
  const grant = books.grants.find((one) => one.grantId === grantId);
  if (grant === undefined) return void tell(books, `${revocationId}: revokes ${grantId}, which was never granted`);
  if (amount === 0n) tell(books, `${revocationId}: revokes nothing`);
  const before = [...books.revocations.values()].reduce(
    (sum, one) => (one.grantId === grantId ? sum + one.uncovered + one.taken : sum),
    0n,
  );
  const isOver = grant.expiresAtMs !== null && grant.expiresAtMs <= Date.parse(revoked.revokedAt);
  const held = isOver ? 0n : grant.remaining;
  const most = OWING.includes(cause) ? grant.amount - before : held;
  if (amount > most) tell(books, `${revocationId}: revokes of ${grantId}`, amount, `at most ${most}`, 'micro-USD');
  const own = amount > held ? held : amount;
  compareAmount(books, `${revocationId}: what ${grantId} held of it`, taken, own);
  compareAmount(books, `${revocationId}: what it makes owed`, uncovered, amount - own);
  grant.remaining = taken > grant.remaining ? 0n : grant.remaining - taken;
  grant.held += taken;
  books.uncovered += uncovered;
  books.removed += amount;
  books.revocations.set(revocationId, { grantId, cause, uncovered, taken });
  followBalance(books, revocationId, revoked.balanceAfter);
}

export function takeRestored(books: AccountBooks, restored: RestoredData): void {
  const { restorationId, revocationId, grantId, cause } = restored;
  const amount = BigInt(restored.amount);
  tellUnreasoned(books, restorationId, restored);
  if (books.restorations.has(restorationId)) tell(books, `${restorationId}: is made twice`);
  books.restorations.add(restorationId);
  const revocation = books.revocations.get(revocationId);
  if (revocation === undefined) tell(books, `${restorationId}: undoes ${revocationId}, which there is not`);
  const { uncovered: owing, taken } = revocation ?? { uncovered: 0n, taken: 0n };
  if (revocation !== undefined) {
    compare(books, `${restorationId}: the grant of ${revocationId}`, grantId, revocation.grantId);
    compare(books, `${restorationId}: the cause of ${revocationId}`, cause, revocation.cause);
  }
  if (amount === 0n) tell(books, `${restorationId}: gives nothing back`);
  if (amount > owing + taken)
    tell(books, `${restorationId}: gives back of ${revocationId}`, amount, `at most ${owing + taken}`, 'micro-USD');
  const uncovered = amount < owing ? amount : owing;
  const grant = books.grants.find((one) => one.grantId === grantId);
  const back = amount - uncovered;
  if (grant !== undefined) grant.held = back > grant.held ? 0n : grant.held - back;
  auditComeBack(books, restorationId, restored, {
    uncovered,
    shares: [{ grantId, amount: back }],
    at: restored.restoredAt,
  });
  books.removed -= amount;
  if (revocation !== undefined) {
    revocation.uncovered -= uncovered;
    revocation.taken = back > taken ? 0n : taken - back;
  }
  followBalance(books, restorationId, restored.balanceAfter);
}

/** It goes on from what is stated. */
function followBalance(books: AccountBooks, id: string, stated: string): void {
  const balance = balanceOf(books);
  compareAmount(books, `${id}: balance after`, stated, balance);
  books.removed += balance - BigInt(stated);
}
