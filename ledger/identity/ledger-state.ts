import { decodeEvent, UnreadableEventError } from '../../contracts/event-codec.ts';
import type { EventLog } from '../../contracts/event-log.ts';
import { LEDGER_STREAM, NO_STREAM, type Revision } from '../../contracts/ids.ts';
import type { LedgerIdentity } from '../../contracts/ledger-identity.ts';

/** What the stream `ledger` folds to. */
export interface LedgerState {
  readonly revision: Revision;
  /** Null for a ledger from before there were identities. */
  readonly identity: LedgerIdentity | null;
}

/** @throws EventLogError, UnreadableEventError; Error when an event of another stream's types stands there. */
export async function readLedgerState(log: EventLog): Promise<LedgerState> {
  let state: LedgerState = { revision: NO_STREAM, identity: null };
  for await (const recorded of log.readStream(LEDGER_STREAM)) {
    const event = decodeEvent(recorded);
    if (event.type !== 'LedgerIdentified' && event.type !== 'LossAccepted')
      throw new UnreadableEventError(
        `${LEDGER_STREAM} revision ${recorded.revision}: ${event.type} does not belong there`,
      );
    const { ledgerId, generation } = event.data;
    state = { revision: recorded.revision, identity: { ledgerId, generation } };
  }
  return state;
}
