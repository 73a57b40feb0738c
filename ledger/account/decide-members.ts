import { instant } from '../../contracts/instant.ts';
import { LIMITS } from '../../contracts/limits.ts';
import type { OpenAccount } from './account-state.ts';
import { type CommandOf, type CommandRefusal, commandRefused, type Decision } from './commands.ts';
import { ownersOf, roleOf } from './members.ts';

export function addMember({ email, role, by, nowMs }: CommandOf<'AddMember'>, state: OpenAccount): Decision {
  if (state.kind === 'personal')
    return commandRefused(
      'personal_account',
      'a personal account has one person, and no members: open an organization',
    );
  const has = roleOf(state, email);
  if (has === role) return [];
  if (has !== null) return commandRefused('member_exists', `${email} is a member already, as ${has}: change the role`);
  if (Object.keys(state.organization.members).length >= LIMITS.membersMax)
    return commandRefused('too_many_members', `an account has at most ${LIMITS.membersMax} members`);
  return [{ type: 'MemberAdded', data: { email, role, addedAt: instant(nowMs), by } }];
}

export function changeMemberRole({ email, role, by }: CommandOf<'ChangeMemberRole'>, state: OpenAccount): Decision {
  const has = roleOf(state, email);
  if (has === null) return memberNotFound(email);
  if (has === role) return [];
  if (has === 'owner' && ownersOf(state) === 1) return lastOwner(state, email);
  return [{ type: 'MemberRoleChanged', data: { email, role, by } }];
}

export function removeMember({ email, by, nowMs }: CommandOf<'RemoveMember'>, state: OpenAccount): Decision {
  const has = roleOf(state, email);
  if (has === null) return memberNotFound(email);
  if (has === 'owner' && ownersOf(state) === 1) return lastOwner(state, email);
  return [{ type: 'MemberRemoved', data: { email, by, removedAt: instant(nowMs) } }];
}

export const memberNotFound = (email: string): CommandRefusal =>
  commandRefused('member_not_found', `${email} is no member of the account`);

const lastOwner = ({ kind }: OpenAccount, email: string): CommandRefusal =>
  commandRefused(
    'last_owner',
    kind === 'personal'
      ? `${email} is whose personal account it is, and stays so`
      : `${email} is the account's last owner: make somebody else an owner first`,
  );
