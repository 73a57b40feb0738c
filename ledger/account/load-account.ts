import type { EventLog, RecordedEvent } from '../../contracts/event-log.ts';
import type { AccountEvent } from '../../contracts/events.ts';
import { type AccountId, accountStream, NO_STREAM, type Revision, revision } from '../../contracts/ids.ts';
import { accountEventOf, evolveAt } from './account-event.ts';
import { type AccountState, INITIAL_ACCOUNT } from './account-state.ts';
import { AccountUnreadableError } from './account-unreadable-error.ts';

/** An account's state and the revision of the last event in it. */
export interface AccountSnapshot {
  readonly state: AccountState;
  readonly revision: Revision;
}

export const UNOPENED: AccountSnapshot = { state: INITIAL_ACCOUNT, revision: NO_STREAM };

/** Folds an account's stream, from a snapshot on where there is one; `seen` is given each event. @throws as `readAccountEvents`; AccountUnreadableError */
export async function loadAccount(
  log: EventLog,
  accountId: AccountId,
  from: AccountSnapshot = UNOPENED,
  seen: (event: AccountEvent) => void = () => undefined,
): Promise<AccountSnapshot> {
  let snapshot = from;
  for await (const { recorded, event } of readAccountEvents(log, accountId, from.revision)) {
    seen(event);
    snapshot = {
      state: evolveAt(accountId, snapshot.state, recorded.revision, event),
      revision: recorded.revision,
    };
  }
  return snapshot;
}

/**
 * The events of an account's stream after a revision.
 * @throws AccountUnreadableError for one that cannot be read, also when revisions are not contiguous: something took
 * events out of the stream; HiddenStreamError; EventLogError as `readStream`
 */
export async function* readAccountEvents(
  log: EventLog,
  accountId: AccountId,
  after: Revision = NO_STREAM,
): AsyncGenerator<{ readonly recorded: RecordedEvent; readonly event: AccountEvent }> {
  let last = after;
  for await (const recorded of log.readStream(accountStream(accountId), { from: revision(last + 1) })) {
    if (recorded.revision !== last + 1)
      throw new AccountUnreadableError(
        accountId,
        recorded.revision,
        `${recorded.stream}: revision ${recorded.revision} follows ${last}`,
      );
    const event = accountEventOf(accountId, recorded);
    last = recorded.revision;
    yield { recorded, event };
  }
}
