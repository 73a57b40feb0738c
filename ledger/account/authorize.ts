import { type Action, type Actor, PERMISSIONS, reachOf } from '../../contracts/permissions.ts';
import type { AccountState, ApiKey, OpenAccount } from './account-state.ts';
import { type AccountCommand, accountNotFound, type CommandRefusal, type Decision } from './commands.ts';
import { decide } from './decide.ts';
import { keyNotFound } from './decide-keys.ts';
import { entryOf } from './keyed-tree.ts';
import { isSameMember, keysAsIssued, memberOfKey, ownerOf, roleOf } from './members.ts';
import { toldTo } from './words-for-accounts.ts';

/** What is asked of an account: a command, or a reading of it. */
export type Asked = AccountCommand | { readonly type: Reading };
export type Reading = Exclude<Action, AccountCommand['type']>;

/**
 * Why the actor may not do it; null where it may. Who is no member of the account is told what an account that does not
 * exist would say. Pure. Every command and every reading of an account passes here,
 * but what settlement decides: usage and debits, which the gateway alone records.
 */
export function authorize(actor: Actor, asked: Asked, state: AccountState): CommandRefusal | null {
  const refusal = authorizeAction(actor, asked.type, state);
  const role = actor.type === 'member' && state.type === 'open' ? roleOf(state, actor.email) : null;
  if (refusal !== null || actor.type !== 'member' || state.type === 'unopened' || role === null) return refusal;
  const reach = reachOf(asked.type, role);
  if (asked.type === 'StartPurchase' && asked.price !== asked.amount)
    return refused(`${role} may not buy credits for another price than they are worth: that is for operator`);
  if (asked.type === 'EndPurchase' && asked.isUnasked === true)
    return refused(`${role} may not end a purchase whose provider cannot be asked to end it: that is for operator`);
  if (reach === 'below owner' && concernsOwner(asked, state))
    return refused(`${role} may not ${PERMISSIONS[asked.type].does} who is an owner, or becomes one`);
  return reach === 'own' ? refuseOthers(asked, actor.email, state) : null;
}

/** The same of an action alone, before what it is to do is known, as while its provider is asked: it is asked again with that. */
export function authorizeAction(actor: Actor, action: Action, state: AccountState): CommandRefusal | null {
  if (actor.type !== 'member') return reachOf(action, actor.type) === null ? notPermitted(action, actor.type) : null;
  const role = state.type === 'open' ? roleOf(state, actor.email) : null;
  if (role === null) return accountNotFound();
  return reachOf(action, role) === null ? notPermitted(action, role) : null;
}

/** `authorize`, then `decide`. */
export const decideAs = (actor: Actor, command: AccountCommand, state: AccountState): Decision =>
  authorize(actor, command, state) ?? decide(command, state, toldTo(actor));

/** The keys that an actor may see, of an account that it may list the keys of; in the order in which they were issued. */
export function keysFor(actor: Actor, state: OpenAccount): ApiKey[] {
  const keys = keysAsIssued(state);
  const reach = actor.type === 'member' ? reachOf('ListKeys', roleOf(state, actor.email) ?? 'member') : 'any';
  return actor.type === 'member' && reach !== 'any' ? keys.filter((key) => isOf(actor.email, key, state)) : keys;
}

const notPermitted = (action: Action, holder: string): CommandRefusal => {
  const who = Object.keys(PERMISSIONS[action].may).join(', ');
  return refused(`${holder} may not ${PERMISSIONS[action].does}: that is for ${who}`);
};

const refused = (message: string): CommandRefusal => ({ type: 'refused', code: 'not_permitted', message });

const concernsOwner = (asked: Asked, state: OpenAccount): boolean =>
  ('role' in asked && asked.role === 'owner') || ('email' in asked && roleOf(state, asked.email) === 'owner');

/** A key of another member's is told as one that there is not; of another's membership nothing is, not even whether there is one. */
function refuseOthers(asked: Asked, email: string, state: OpenAccount): CommandRefusal | null {
  if (asked.type === 'IssueKey')
    return isSameMember(asked.member ?? ownerOf(state), email)
      ? null
      : refused("member may issue no keys but the member's own");
  if (asked.type === 'RemoveMember')
    return isSameMember(asked.email, email) ? null : refused("member may end no membership but the member's own");
  if (asked.type !== 'RevokeKey' && asked.type !== 'RotateKey') return null;
  const key = entryOf(state.keys, asked.keyId);
  return key !== undefined && isOf(email, key, state) ? null : keyNotFound(asked.keyId);
}

const isOf = (email: string, key: ApiKey, state: OpenAccount): boolean => isSameMember(memberOfKey(state, key), email);
