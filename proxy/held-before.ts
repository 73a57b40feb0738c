import type { AccountEvent } from '../contracts/events.ts';
import type { AccountId } from '../contracts/ids.ts';
import { type CommandRefusal, commandRefused } from '../ledger/account/commands.ts';
import { writtenOffTooSoon } from '../ledger/account/written-off.ts';
import type { Holds } from './holds.ts';

/** Why what is left of a grant may not be written off: a request of this gateway from before its end may burn it yet. Null where none may. */
export function heldBefore(
  holds: Pick<Holds, 'each'>,
  accountId: AccountId,
  events: readonly AccountEvent[],
): CommandRefusal | null {
  const startsMs = [...holds.each(accountId)]
    .filter(({ amount }) => amount > 0n)
    .map(({ firstStartMs }) => firstStartMs);
  const over = writtenOffTooSoon(events, startsMs);
  if (over === null) return null;
  return commandRefused(
    'not_written_off',
    `grant ${over.grantId} is over since ${over.expiredAt}, and a request from before that is to be debited from it first`,
  );
}
