import type { OpenAccount } from './account-state.ts';
import { type CommandRefusal, commandRefused } from './commands.ts';
import { type GrantShare, haveRoom } from './shares-room.ts';

/** Why the account gets no further grant; null where it may have one. */
export function refuseWithoutRoom({ grants, uncovered }: OpenAccount, further: GrantShare): CommandRefusal | null {
  const unspent = grants.filter(({ remaining }) => remaining > 0n);
  // What is owed is filled first, and this may be the only way out: while something is, the unspent may be set off against it.
  if (uncovered > 0n || haveRoom([...unspent, further])) return null;
  return commandRefused(
    'too_many_grants',
    `the account has ${unspent.length} grants with something left, and no debit could name more: grant it when some are spent, or fewer and larger ones`,
  );
}
