import type { EventData } from '../../contracts/events.ts';
import type { KeyId } from '../../contracts/ids.ts';
import type { Role } from '../../contracts/permissions.ts';
import type { ApiKey, OpenAccount } from './account-state.ts';
import { entryOf, valuesOf, withEntry } from './keyed-tree.ts';
import type { Organization } from './organization-state.ts';

/** E-mails are the same in capital letters. */
export const memberKey = (email: string): string => email.toLowerCase();

export const isSameMember = (one: string, other: string): boolean => memberKey(one) === memberKey(other);

/** What somebody is in the account; null for who is no member of it. */
export function roleOf({ organization: { members } }: Pick<OpenAccount, 'organization'>, email: string): Role | null {
  const key = memberKey(email);
  return Object.hasOwn(members, key) ? (members[key]?.role ?? null) : null;
}

/** Whose a key is: the first owner's, where it names nobody. */
export const memberOfKey = ({ email }: Pick<OpenAccount, 'email'>, { member }: Pick<ApiKey, 'member'>): string =>
  member ?? email;

/** By e-mail, who is told as the account's, and whose a key is that is issued for nobody else: its first owner, else the first that there is. */
export function ownerOf({ email, organization: { members } }: Pick<OpenAccount, 'email' | 'organization'>): string {
  const owners = Object.values(members).filter(({ role }) => role === 'owner');
  return (owners.find((owner) => isSameMember(owner.email, email)) ?? owners[0])?.email ?? email;
}

/** All of an account's keys, in the order in which they were issued. */
export const keysAsIssued = ({ keys }: Pick<OpenAccount, 'keys'>): ApiKey[] =>
  [...valuesOf(keys)].sort((one, other) => one.number - other.number);

/** Also those that were revoked: what they have spent, and hold, is the member's. */
export const keysOfMember = (state: Pick<OpenAccount, 'keys' | 'email'>, email: string): KeyId[] =>
  [...valuesOf(state.keys)].flatMap((key) => (isSameMember(memberOfKey(state, key), email) ? [key.keyId] : []));

/** Whose a key is, as `memberKey` has it, and stays for good; null where it was never issued, and is nobody's. */
export function memberKeyOf(state: Pick<OpenAccount, 'keys' | 'email'>, keyId: string): string | null {
  const key = entryOf(state.keys, keyId);
  return key === undefined ? null : memberKey(memberOfKey(state, key));
}

export const ownersOf = ({ organization: { members } }: Pick<OpenAccount, 'organization'>): number =>
  Object.values(members).filter(({ role }) => role === 'owner').length;

export const openedOrganization = ({ product, email, openedAt }: EventData<'AccountOpened'>): Organization => ({
  product,
  members: { [memberKey(email)]: { email, role: 'owner', addedAtMs: Date.parse(openedAt) } },
});

export const withMember = (state: OpenAccount, { email, role, addedAt }: EventData<'MemberAdded'>): Organization => ({
  ...state.organization,
  members: { ...state.organization.members, [memberKey(email)]: { email, role, addedAtMs: Date.parse(addedAt) } },
});

/** @throws Error where there is no such member */
export function withRole(state: OpenAccount, { email, role }: EventData<'MemberRoleChanged'>): Organization {
  const { members } = state.organization;
  const member = members[memberKey(email)];
  if (member === undefined) throw new Error(`account ${state.accountId} has no member ${email}`);
  return { ...state.organization, members: { ...members, [memberKey(email)]: { ...member, role } } };
}

/** Without the member, whose keys are as revoked from then on. @throws Error where there is no such member */
export function withoutMember(
  state: OpenAccount,
  { email, removedAt }: EventData<'MemberRemoved'>,
): Pick<OpenAccount, 'organization' | 'keys'> {
  const { [memberKey(email)]: removed, ...members } = state.organization.members;
  if (removed === undefined) throw new Error(`account ${state.accountId} has no member ${email}`);
  const revokedAtMs = Date.parse(removedAt);
  let { keys } = state;
  for (const key of valuesOf(state.keys))
    if (key.revokedAtMs === null && isSameMember(memberOfKey(state, key), email))
      keys = withEntry(keys, key.keyId, { ...key, revokedAtMs });
  return { organization: { ...state.organization, members }, keys };
}
