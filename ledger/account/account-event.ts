import { decodeEvent, UnreadableEventError } from '../../contracts/event-codec.ts';
import type { EventWithoutId } from '../../contracts/event-log.ts';
import { type AccountEvent, isAccountEvent } from '../../contracts/events.ts';
import { type AccountId, accountStream, type Revision } from '../../contracts/ids.ts';
import { brief } from '../../contracts/printable.ts';
import type { AccountState, OpenAccount } from './account-state.ts';
import { evolve } from './evolve.ts';

/** An event that cannot be read, or follow what is before it: from there on this one account is not known. */
export class AccountUnreadableError extends UnreadableEventError {
  readonly accountId: AccountId;
  readonly revision: Revision;

  /** @param why names the stream, the revision and the reason, in one line */
  constructor(accountId: AccountId, revision: Revision, why: string, options?: ErrorOptions) {
    super(why, options);
    this.accountId = accountId;
    this.revision = revision;
  }
}

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
