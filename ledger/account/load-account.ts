import { decodeEvent } from '../../contracts/event-codec.ts';
import type { EventLog } from '../../contracts/event-log.ts';
import { isAccountEvent } from '../../contracts/events.ts';
import { type AccountId, accountStream, NO_STREAM, type Revision, revision } from '../../contracts/ids.ts';
import { type AccountState, INITIAL_ACCOUNT } from './account-state.ts';
import { evolve } from './evolve.ts';

/** An account's state and the revision of the last event in it. */
export interface AccountSnapshot {
  readonly state: AccountState;
  readonly revision: Revision;
}

export const UNOPENED: AccountSnapshot = { state: INITIAL_ACCOUNT, revision: NO_STREAM };

/**
 * Folds an account's stream, from a snapshot on where there is one.
 * @throws Error when revisions are not contiguous: something took events out of the stream.
 */
export async function loadAccount(
  log: EventLog,
  accountId: AccountId,
  from: AccountSnapshot = UNOPENED,
): Promise<AccountSnapshot> {
  let { state, revision: last } = from;
  for await (const recorded of log.readStream(accountStream(accountId), { from: revision(last + 1) })) {
    if (recorded.revision !== last + 1)
      throw new Error(`${recorded.stream}: revision ${recorded.revision} follows ${last}`);
    const event = decodeEvent(recorded);
    if (!isAccountEvent(event)) throw new Error(`${recorded.stream}: ${event.type} does not belong there`);
    state = evolve(state, event);
    last = recorded.revision;
  }
  return { state, revision: last };
}
