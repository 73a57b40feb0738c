import { DEFAULT_PRODUCT } from '../../contracts/event-fields.ts';
import { LIMITS } from '../../contracts/limits.ts';
import { auditKeyOwner, openMembers } from './audit-members.ts';
import { type AccountBooks, compare, compareAmount, tell } from './own-account.ts';
import { hardLimit, isLimited } from './own-limits.ts';
import type { GrantData, IssuedData, OpenedData, RevokedData, StoredEvent, SuspensionData } from './stored-event.ts';

/*
 * What no decision ever wrote: opened or suspended twice, a key that is not there, a limit that was so already.
 */

/** Before any event but the first. */
export function auditOpen(books: AccountBooks, type: string): void {
  if (books.life.isOpen) return;
  tell(books, `${type} on an account that was never opened`);
  books.life.isOpen = true;
}

export function takeOpened(books: AccountBooks, opened: OpenedData, { metadata }: StoredEvent): void {
  const { accountId, openedAt } = opened;
  if (books.life.isOpen) tell(books, 'the account is opened twice');
  compare(books, 'the account that is opened', accountId, books.accountId);
  books.life.isOpen = true;
  books.life.opening = { openedAt, commandId: metadata?.commandId };
  openMembers(books, opened);
  // Events of earlier versions have none.
  books.statements.product = opened.product ?? DEFAULT_PRODUCT;
}

/** A trial is given as the account is opened, and to nobody later; its terms are the same for all. */
export function auditTrial(books: AccountBooks, grant: GrantData, { metadata }: StoredEvent): void {
  const { opening } = books.life;
  if (grant.source !== 'trial' || opening === null) return;
  const { grantId, effectiveAt, expiresAt, priority, costBasis } = grant;
  if (metadata?.commandId !== opening.commandId)
    tell(books, `${grantId}: a trial that was not given as the account was opened`);
  compare(books, `${grantId}: when the trial begins`, effectiveAt, opening.openedAt);
  const end = new Date(Date.parse(effectiveAt) + LIMITS.trialMs).toISOString();
  compare(books, `${grantId}: when the trial ends`, expiresAt ?? 'never', end);
  compare(books, `${grantId}: the priority of the trial`, priority, 0);
  compareAmount(books, `${grantId}: what was paid for the trial`, costBasis, 0n);
}

export function takeSuspension(books: AccountBooks, isSuspended: boolean, { data, metadata }: StoredEvent): void {
  const { life } = books;
  if ((data as SuspensionData).reason.trim() === '')
    tell(books, isSuspended ? 'suspended without a reason' : 'reinstated without a reason');
  if (life.isSuspended === isSuspended)
    tell(books, isSuspended ? 'suspended, and it is suspended already' : 'reinstated, and it is not suspended');
  life.isSuspended = isSuspended;
  const recordedAt = metadata?.recordedAt;
  if (recordedAt === undefined) return;
  if (isSuspended) life.suspension = { from: recordedAt, until: null };
  else if (life.suspension !== null) life.suspension = { ...life.suspension, until: recordedAt };
}

export function takeKey(books: AccountBooks, issued: IssuedData, { metadata }: StoredEvent): void {
  const { keyId, expiresAt, models, monthlyLimit, sha256, member = null } = issued;
  const recordedAt = metadata?.recordedAt ?? null;
  if (books.life.keys.has(keyId)) tell(books, `${keyId}: issued twice`);
  if (expiresAt !== null && recordedAt !== null && expiresAt <= recordedAt)
    tell(books, `${keyId}: had ended when it was issued`, expiresAt);
  const key = { isRevoked: false, endsAt: expiresAt, models, limitedSince: null, member, sha256 };
  books.life.keys.set(keyId, key);
  auditKeyOwner(books, keyId, member);
  if (monthlyLimit !== null) books.limits.set(keyId, hardLimit(monthlyLimit));
  if (isLimited(books, keyId)) books.life.keys.set(keyId, { ...key, limitedSince: recordedAt });
}

export function revokeKey(books: AccountBooks, { keyId, revokedAt }: RevokedData): void {
  const { keys } = books.life;
  const key = keys.get(keyId);
  if (key === undefined) tell(books, `${keyId}: revoked, and was never issued`);
  else if (key.isRevoked) tell(books, `${keyId}: revoked twice`);
  const endsAt = key?.endsAt ?? revokedAt;
  const { models = null, limitedSince = null, member = null, sha256 = '' } = key ?? {};
  const ended = endsAt < revokedAt ? endsAt : revokedAt;
  keys.set(keyId, { isRevoked: true, endsAt: ended, models, limitedSince, member, sha256 });
}
