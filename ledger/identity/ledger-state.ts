import { decodeEvent } from '../../contracts/event-codec.ts';
import { assertFormsRead, BASE_FORMS, type Forms, formsTogether, OWN_FORMS } from '../../contracts/event-forms.ts';
import type { ReadableLog, RecordedEvent } from '../../contracts/event-log.ts';
import { type EventData, isLedgerEvent } from '../../contracts/events.ts';
import { LEDGER_STREAM, NO_STREAM, type Revision } from '../../contracts/ids.ts';
import type { LedgerIdentity } from '../../contracts/ledger-identity.ts';
import { UnreadableEventError } from '../../contracts/unreadable-event-error.ts';
import { readCopyMarker } from './copy-marker.ts';

/** What the stream `ledger` folds to. */
export interface LedgerState {
  readonly revision: Revision;
  /** Null for a ledger from before there were identities. */
  readonly identity: LedgerIdentity | null;
  /** In which forms events may be written: what every program reads, and what was adopted since. */
  readonly adopted: Forms;
  /** Where the ledger goes on, and since when; null where it is here. */
  readonly moved: Pick<LedgerMoved, 'to' | 'movedAt'> | null;
  /** How often it has moved, and is there. */
  readonly arrivals: number;
  /** Not all of the ledger is here yet: it is being copied to this log. */
  readonly isBeingCopied: boolean;
}

type LedgerMoved = EventData<'LedgerMoved'>;

/**
 * @param own what this program reads
 * @throws EventLogError, UnreadableEventError, also when an event of another stream's types stands there; UnreadFormsError
 *   where the ledger has adopted forms that this program does not read
 */
export async function readLedgerState(log: ReadableLog, own: Forms = OWN_FORMS): Promise<LedgerState> {
  let state = NOTHING;
  // First: a copy ends with an event of the stream that is read then.
  const marker = await readCopyMarker(log);
  for await (const recorded of log.readStream(LEDGER_STREAM)) state = evolve(state, recorded);
  assertFormsRead(state.adopted, own);
  return { ...state, isBeingCopied: marker !== null && state.arrivals < marker.arrivals };
}

const NOTHING: LedgerState = {
  ...{ revision: NO_STREAM, identity: null, adopted: BASE_FORMS },
  ...{ moved: null, arrivals: 0, isBeingCopied: false },
};

function evolve(state: LedgerState, recorded: RecordedEvent): LedgerState {
  const event = decodeEvent(recorded);
  const { revision } = recorded;
  if (event.type === 'FormsAdopted')
    return { ...state, revision, adopted: formsTogether(state.adopted, event.data.forms) };
  if (!isLedgerEvent(event))
    throw new UnreadableEventError(`${LEDGER_STREAM} revision ${revision}: ${event.type} does not belong there`);
  const { ledgerId, generation } = event.data;
  const next = { ...state, revision, identity: { ledgerId, generation } };
  if (event.type === 'LedgerMoved') return { ...next, moved: { to: event.data.to, movedAt: event.data.movedAt } };
  const hasArrived = event.type === 'LedgerIdentified' && state.moved !== null;
  return hasArrived ? { ...next, moved: null, arrivals: state.arrivals + 1 } : next;
}
