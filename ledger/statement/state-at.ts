import type { ReadableLog } from '../../contracts/event-log.ts';
import { type AccountId, accountStream, type Revision } from '../../contracts/ids.ts';
import { AccountUnreadableError, accountEventOf, evolveAt } from '../account/account-event.ts';
import { type AccountState, INITIAL_ACCOUNT, type OpenAccount } from '../account/account-state.ts';
import { behind, isReached, recordedAtOf, type StreamPlace } from './stream-range.ts';

/** What an account was after one of its events. */
export interface StateAt {
  readonly state: OpenAccount;
  readonly revision: Revision;
  /** Of that event. */
  readonly recordedAt: string;
  /** The instant that was asked for; of a revision its event's own. */
  readonly atMs: number;
}

/**
 * An account as its events up to a place make it: at an instant all that were written down by then, in the order of the
 * stream. Reads that account's events and no others; null where there is none up to there.
 * @throws AccountUnreadableError for an event up to there that cannot be read or folded; EventLogError
 */
export async function stateAt(log: ReadableLog, accountId: AccountId, place: StreamPlace): Promise<StateAt | null> {
  let state: AccountState = INITIAL_ACCOUNT;
  let last: { readonly revision: Revision; readonly recordedAt: string } | null = null;
  for await (const recorded of log.readStream(accountStream(accountId))) {
    const recordedAt = recordedAtOf(recorded);
    if (isReached(behind(place), recorded, recordedAt)) break;
    const { stream, revision } = recorded;
    const due: number = last === null ? 0 : last.revision + 1;
    if (revision !== due)
      throw new AccountUnreadableError(
        accountId,
        revision,
        `${stream}: revision ${revision} stands where ${due} should`,
      );
    state = evolveAt(accountId, state, revision, accountEventOf(accountId, recorded));
    last = { revision, recordedAt: recordedAt ?? '' };
  }
  if (state.type === 'unopened' || last === null) return null;
  return { state, ...last, atMs: place.type === 'instant' ? place.atMs : Date.parse(last.recordedAt) };
}
