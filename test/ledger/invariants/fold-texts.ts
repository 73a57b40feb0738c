import { decodeRecorded } from '../../../contracts/event-codec.ts';
import type { RecordedEvent } from '../../../contracts/event-log.ts';
import type { AccountEvent } from '../../../contracts/events.ts';
import { type AccountState, INITIAL_ACCOUNT } from '../../../ledger/account/account-state.ts';
import { evolve } from '../../../ledger/account/evolve.ts';
import { wholeText } from '../../fixtures/ledger/whole-account.ts';

/** What stored events of an account fold to, as it is kept. */
export function foldedTexts(recorded: readonly RecordedEvent[]): string {
  let state: AccountState = INITIAL_ACCOUNT;
  for (const one of recorded) state = evolve(state, decodeRecorded(one).event as AccountEvent);
  if (state.type === 'unopened') throw new Error('there is no event');
  return wholeText(state);
}
