import { LIMITS } from '../../contracts/limits.ts';
import { type AccountBooks, compare, type OwnKey, tell } from './own-account.ts';
import type { MemberData, OpenedData, RemovedData, RotatedData } from './stored-event.ts';

/*
 * Who belongs to the account: nobody twice, never without an owner, and no key of who is none of them.
 */

/** An e-mail is the same in capital letters. */
export const nameOfMember = (email: string): string => email.toLowerCase();

export function openMembers({ life }: AccountBooks, { kind, email }: OpenedData): void {
  life.kind = kind;
  life.firstOwner = nameOfMember(email);
  life.members.set(nameOfMember(email), 'owner');
}

export function takeMember(books: AccountBooks, { email, role }: MemberData): void {
  const { kind, members } = books.life;
  if (kind === 'personal') tell(books, `${email}: a member of a personal account`);
  if (members.has(nameOfMember(email))) tell(books, `${email}: added, and is a member already`);
  members.set(nameOfMember(email), role);
  if (members.size > LIMITS.membersMax) tell(books, `${email}: one more member than there may be`);
}

export function changeRole(books: AccountBooks, { email, role }: MemberData): void {
  const { members } = books.life;
  const before = members.get(nameOfMember(email));
  if (before === undefined) tell(books, `${email}: has a new role, and is no member`);
  if (before === role) tell(books, `${email}: the role is changed to what it is already`, role);
  members.set(nameOfMember(email), role);
  auditOwners(books);
}

/** With the member its keys end. */
export function removeMember(books: AccountBooks, { email, removedAt }: RemovedData): void {
  const { members, keys } = books.life;
  if (!members.delete(nameOfMember(email))) tell(books, `${email}: removed, and is no member`);
  auditOwners(books);
  for (const key of keys.values())
    if (whoseOf(books, key.member) === nameOfMember(email) && !key.isRevoked) {
      key.isRevoked = true;
      key.endsAt = key.endsAt !== null && key.endsAt < removedAt ? key.endsAt : removedAt;
    }
}

export function auditKeyOwner(books: AccountBooks, keyId: string, member: string | null): void {
  const whose = whoseOf(books, member);
  if (!books.life.members.has(whose)) tell(books, `${keyId}: of ${whose}, who is no member`);
}

/** Another secret for the same key; the one before goes on for a while. */
export function rotateKey(books: AccountBooks, { keyId, sha256, previousUntil, rotatedAt }: RotatedData): void {
  const key: OwnKey | undefined = books.life.keys.get(keyId);
  if (key === undefined) tell(books, `${keyId}: rotated, and was never issued`);
  else if (key.isRevoked) tell(books, `${keyId}: rotated, and is revoked`);
  else if (key.endsAt !== null && key.endsAt <= rotatedAt)
    tell(books, `${keyId}: had ended when it was rotated`, key.endsAt);
  if (previousUntil < rotatedAt)
    tell(books, `${keyId}: its secret before ends before the rotation`, previousUntil, `${rotatedAt} or later`);
  if (Date.parse(previousUntil) - Date.parse(rotatedAt) > LIMITS.keyOverlapMsMax)
    tell(books, `${keyId}: its secret before goes on too long`, previousUntil);
  if (key === undefined) return;
  if (key.sha256 === sha256) tell(books, `${keyId}: rotated to the secret that it has`);
  key.sha256 = sha256;
}

/** Where the account was never opened nobody is known. */
function auditOwners(books: AccountBooks): void {
  const { members, firstOwner } = books.life;
  if (firstOwner !== '')
    compare(books, 'whether the account has an owner', [...members.values()].includes('owner'), true);
}

export const whoseOf = ({ life }: AccountBooks, member: string | null): string =>
  member === null ? life.firstOwner : nameOfMember(member);
