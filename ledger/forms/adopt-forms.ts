import { encodeEvents, type Recording } from '../../contracts/event-codec.ts';
import { BASE_FORMS, type Forms, formsBeyond, OWN_FORMS } from '../../contracts/event-forms.ts';
import type { EventLog } from '../../contracts/event-log.ts';
import { LEDGER_STREAM, proxyId } from '../../contracts/ids.ts';
import { type LedgerState, readLedgerState } from '../identity/ledger-state.ts';
import { FORMS_LIMITS } from './limits.ts';

/** Types of which a program has a newer form than every program reads; but for that which adopts them. */
export function typesBeyondBase(own: Forms): Set<string> {
  const types = new Set(Object.keys(formsBeyond(own, BASE_FORMS)));
  types.delete('FormsAdopted');
  return types;
}

/** The forms that the ledger lacks; null where only the adopting event itself would be written in a new one. */
export function formsToAdopt({ adopted, identity }: LedgerState, own: Forms = OWN_FORMS): Forms | null {
  const beyond = formsBeyond(own, adopted);
  // A ledger gets its identity from the first gateway that opens it, and that event is the first of its stream.
  if (identity === null) return null;
  return Object.keys(beyond).some((type) => type !== 'FormsAdopted') ? beyond : null;
}

interface Adoption {
  readonly forms: Forms;
  /** Names that were not asked, by an operator's word. */
  readonly without: readonly string[];
  readonly reason: string;
  readonly recording: Recording;
}

/**
 * Writes down that events may be written in these forms; whoever calls has asked all claims. Another that does the same at
 * once is no obstacle. @throws EventLogError; Error when others write to the stream again and again
 */
export async function adoptForms(log: EventLog, adoption: Adoption, own: Forms = OWN_FORMS): Promise<void> {
  const { forms, without, reason, recording } = adoption;
  const data = { forms, without: without.map(proxyId), reason, actor: recording.actor };
  const events = encodeEvents([{ type: 'FormsAdopted', data }], recording);
  for (let attempt = 1; attempt <= FORMS_LIMITS.adoptAttempts; attempt++) {
    const state = await readLedgerState(log, own);
    if (Object.keys(formsBeyond(forms, state.adopted)).length === 0) return;
    const { type } = await log.append(LEDGER_STREAM, state.revision, events);
    if (type === 'appended') return;
  }
  throw new Error(`others have written to the stream ${LEDGER_STREAM} ${FORMS_LIMITS.adoptAttempts} times in between`);
}
