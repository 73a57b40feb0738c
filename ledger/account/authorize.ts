import type { AccountEvent } from '../../contracts/events.ts';
import { type Action, type Actor, PERMISSIONS, reachOf } from '../../contracts/permissions.ts';
import type { AccountState } from './account-state.ts';
import { type AccountCommand, accountNotFound, type CommandRefusal, commandRefused } from './commands.ts';
import { decide } from './decide.ts';
import { roleOf } from './members.ts';

/** What is asked of an account: a command, or a reading of it. */
export type Asked = AccountCommand | { readonly type: Exclude<Action, AccountCommand['type']> };

/**
 * Why the actor may not do it; null where it may. Who is no member of the account is told what an account that does not
 * exist would say. Pure. Every command and every reading of an account passes here, whoever asks.
 */
export function authorize(actor: Actor, asked: Asked, state: AccountState): CommandRefusal | null {
  if (actor.type !== 'member')
    return reachOf(asked.type, actor.type) === null ? notPermitted(asked.type, actor.type) : null;
  const role = state.type === 'open' ? roleOf(state, actor.email) : null;
  if (role === null) return accountNotFound();
  return reachOf(asked.type, role) === null ? notPermitted(asked.type, role) : null;
}

/** `authorize`, then `decide`. */
export const decideAs = (actor: Actor, command: AccountCommand, state: AccountState): AccountEvent[] | CommandRefusal =>
  authorize(actor, command, state) ?? decide(command, state);

const notPermitted = (action: Action, holder: string): CommandRefusal => {
  const who = Object.keys(PERMISSIONS[action].may).join(', ');
  return commandRefused('not_permitted', `${holder} may not ${PERMISSIONS[action].does}: that is for ${who}`);
};
