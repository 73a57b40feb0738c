import { decodeEvent, UnreadableEventError } from '../../contracts/event-codec.ts';
import { assertFormsRead, BASE_FORMS, type Forms, formsTogether, OWN_FORMS } from '../../contracts/event-forms.ts';
import type { ReadableLog, RecordedEvent } from '../../contracts/event-log.ts';
import { LEDGER_STREAM, NO_STREAM, type Revision } from '../../contracts/ids.ts';
import type { LedgerIdentity } from '../../contracts/ledger-identity.ts';

/** What the stream `ledger` folds to. */
export interface LedgerState {
  readonly revision: Revision;
  /** Null for a ledger from before there were identities. */
  readonly identity: LedgerIdentity | null;
  /** In which forms events may be written: what every program reads, and what was adopted since. */
  readonly adopted: Forms;
}

/**
 * @param own what this program reads
 * @throws EventLogError, UnreadableEventError, also when an event of another stream's types stands there; UnreadFormsError
 *   where the ledger has adopted forms that this program does not read
 */
export async function readLedgerState(log: ReadableLog, own: Forms = OWN_FORMS): Promise<LedgerState> {
  let state: LedgerState = { revision: NO_STREAM, identity: null, adopted: BASE_FORMS };
  for await (const recorded of log.readStream(LEDGER_STREAM)) state = evolve(state, recorded);
  assertFormsRead(state.adopted, own);
  return state;
}

function evolve(state: LedgerState, recorded: RecordedEvent): LedgerState {
  const event = decodeEvent(recorded);
  const { revision } = recorded;
  if (event.type === 'FormsAdopted')
    return { ...state, revision, adopted: formsTogether(state.adopted, event.data.forms) };
  if (event.type !== 'LedgerIdentified' && event.type !== 'LossAccepted')
    throw new UnreadableEventError(`${LEDGER_STREAM} revision ${revision}: ${event.type} does not belong there`);
  const { ledgerId, generation } = event.data;
  return { ...state, revision, identity: { ledgerId, generation } };
}
