import { decodeEvent } from '../../contracts/event-codec.ts';
import type { EventWithoutId } from '../../contracts/event-log.ts';
import { type AccountEvent, isAccountEvent } from '../../contracts/events.ts';
import { type AccountId, accountStream, type Revision } from '../../contracts/ids.ts';
import { brief } from '../../contracts/printable.ts';
import { UnreadableEventError } from '../../contracts/unreadable-event-error.ts';
import type { AccountState, OpenAccount } from './account-state.ts';
import { AccountUnreadableError } from './account-unreadable-error.ts';
import { evolve } from './evolve.ts';

/** Reads a stored event of an account's stream. @throws AccountUnreadableError */
export function accountEventOf(accountId: AccountId, recorded: EventWithoutId): AccountEvent {
  const unreadable = (why: string, options?: ErrorOptions): AccountUnreadableError =>
    new AccountUnreadableError(accountId, recorded.revision, why, options);
  try {
    const event = decodeEvent(recorded);
    if (isAccountEvent(event)) return event;
  } catch (error) {
    throw error instanceof UnreadableEventError ? unreadable(error.message, { cause: error }) : error;
  }
  throw unreadable(
    `${brief(recorded.stream)} revision ${recorded.revision} (${recorded.type}): it does not belong there`,
  );
}

/** Folds an event onto the state before it. @throws AccountUnreadableError where it cannot follow that */
export function evolveAt(accountId: AccountId, state: AccountState, at: Revision, event: AccountEvent): OpenAccount {
  try {
    return evolve(state, event);
  } catch (error) {
    throw cannotFollow(accountId, at, event, error);
  }
}

/** What a fold has thrown, as what is amiss with its account. */
export function cannotFollow(
  accountId: AccountId,
  at: Revision,
  { type }: AccountEvent,
  cause: unknown,
): AccountUnreadableError {
  const reason = brief(cause instanceof Error ? cause.message : String(cause));
  const why = `${brief(accountStream(accountId))} revision ${at} (${type}): it cannot follow what stands before it: ${reason}`;
  return new AccountUnreadableError(accountId, at, why, { cause });
}
