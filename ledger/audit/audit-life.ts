import { type AccountBooks, compare, tell } from './own-account.ts';
import { noteKeyLimit } from './own-leases.ts';
import type { IssuedData, LimitSetData, OpenedData, RevokedData, StoredEvent } from './stored-event.ts';

/*
 * What no decision ever wrote: opened or suspended twice, a key that is not there, a limit that was so already.
 */

/** Before any event but the first. */
export function auditOpen(books: AccountBooks, type: string): void {
  if (books.life.isOpen) return;
  tell(books, `${type} on an account that was never opened`);
  books.life.isOpen = true;
}

export function takeOpened(books: AccountBooks, { accountId }: OpenedData): void {
  if (books.life.isOpen) tell(books, 'the account is opened twice');
  compare(books, 'the account that is opened', accountId, books.accountId);
  books.life.isOpen = true;
}

export function takeSuspension(books: AccountBooks, isSuspended: boolean): void {
  const { life } = books;
  if (life.isSuspended === isSuspended)
    tell(books, isSuspended ? 'suspended, and it is suspended already' : 'reinstated, and it is not suspended');
  life.isSuspended = isSuspended;
}

export function takeKey(books: AccountBooks, issued: IssuedData, { metadata }: StoredEvent): void {
  const { keyId, expiresAt, monthlyLimit } = issued;
  const recordedAt = metadata?.recordedAt ?? null;
  if (books.life.keys.has(keyId)) tell(books, `${keyId}: issued twice`);
  if (expiresAt !== null && recordedAt !== null && expiresAt <= recordedAt)
    tell(books, `${keyId}: had ended when it was issued`, expiresAt);
  books.life.keys.set(keyId, { isRevoked: false, endsAt: expiresAt });
  if (monthlyLimit !== null) books.limits.set(keyId, BigInt(monthlyLimit));
}

export function revokeKey(books: AccountBooks, { keyId, revokedAt }: RevokedData): void {
  const { keys } = books.life;
  const key = keys.get(keyId);
  if (key === undefined) tell(books, `${keyId}: revoked, and was never issued`);
  else if (key.isRevoked) tell(books, `${keyId}: revoked twice`);
  const endsAt = key?.endsAt ?? revokedAt;
  keys.set(keyId, { isRevoked: true, endsAt: endsAt < revokedAt ? endsAt : revokedAt });
}

export function setLimit(books: AccountBooks, { scope, keyId, limit }: LimitSetData): void {
  const whose = keyId ?? 'account';
  compare(books, `${whose}: scope of its limit`, scope, keyId === null ? 'account' : 'key');
  if (keyId !== null && !books.life.keys.has(keyId)) tell(books, `${keyId}: has a limit, and was never issued`);
  const before = books.limits.get(keyId) ?? null;
  if (String(before) === String(limit))
    tell(books, `${whose}: its limit is set to what it is already`, limit, null, 'micro-USD');
  if (keyId !== null) noteKeyLimit(books.leases, keyId, { before, after: limit });
  if (limit === null) books.limits.delete(keyId);
  else books.limits.set(keyId, BigInt(limit));
}
