import type { ReadableLog } from '../../contracts/event-log.ts';
import { type AccountId, accountStream, type Revision } from '../../contracts/ids.ts';
import { accountEventOf, evolveAt } from '../account/account-event.ts';
import { type AccountState, INITIAL_ACCOUNT, type OpenAccount } from '../account/account-state.ts';
import { AccountUnreadableError } from '../account/account-unreadable-error.ts';
import { behind, type Disorder, Division, gapBefore, recordedAtOf, type StreamPlace } from './stream-range.ts';

/** What an account was after one of its events. */
interface StateAt {
  readonly state: OpenAccount;
  readonly revision: Revision;
  /** Of that event. */
  readonly recordedAt: string;
  /** The instant that was asked for; of a revision its event's own. */
  readonly atMs: number;
}

export interface AccountAt {
  /** Null where it was not opened up to there. */
  readonly found: StateAt | null;
  readonly disorder: Disorder | null;
}

/**
 * An account as its events up to a place make it: at an instant those before the first that was written down later. Reads
 * that account's events and no others.
 * @throws AccountUnreadableError for an event up to there that cannot be read or folded; EventLogError
 */
export async function stateAt(log: ReadableLog, accountId: AccountId, place: StreamPlace): Promise<AccountAt> {
  const division = new Division(behind(place));
  let state: AccountState = INITIAL_ACCOUNT;
  let last: { readonly revision: Revision; readonly recordedAt: string } | null = null;
  for await (const recorded of log.readStream(accountStream(accountId))) {
    const recordedAt = recordedAtOf(recorded);
    if (division.take(recorded, recordedAt)) {
      if (division.isSettled) break;
      continue;
    }
    const { stream, revision } = recorded;
    const gap = gapBefore(last === null ? 0 : last.revision + 1, recorded);
    if (gap !== null) throw new AccountUnreadableError(accountId, revision, `${stream}: ${gap}`);
    state = evolveAt(accountId, state, revision, accountEventOf(accountId, recorded));
    last = { revision, recordedAt: recordedAt ?? '' };
  }
  const { disorder } = division;
  if (state.type === 'unopened' || last === null) return { found: null, disorder };
  const atMs = place.type === 'instant' ? place.atMs : Date.parse(last.recordedAt);
  return { found: { state, ...last, atMs }, disorder };
}
