import { randomBytes } from 'node:crypto';
import { encodeEvents, type Recording } from '../../contracts/event-codec.ts';
import { BASE_FORMS, type Forms, formsBeyond, OWN_FORMS } from '../../contracts/event-forms.ts';
import { type EventLog, EventLogError, isLogAway } from '../../contracts/event-log.ts';
import type { LedgerEvent } from '../../contracts/events.ts';
import { LEDGER_STREAM, type LedgerId, ledgerId, NO_STREAM, uuidV7 } from '../../contracts/ids.ts';
import type { LedgerIdentity } from '../../contracts/ledger-identity.ts';
import { readLedgerState } from './ledger-state.ts';
import { IDENTITY_LIMITS } from './limits.ts';

export const newLedgerId = (nowMs: number): LedgerId =>
  ledgerId(`ledger_${uuidV7(nowMs, randomBytes(10)).replaceAll('-', '')}`);

/**
 * The identity that a ledger has, or is given here: first of all in a new one, behind what there is in one from before.
 * A new one has the forms of the program that made it: there is no older program to wait for.
 * Of two that start at once one is too late, and takes what the other has written.
 *
 * @param own what the program reads
 * @throws EventLogError, UnreadFormsError
 */
export async function identifyLedger(
  log: EventLog,
  nowMs: number,
  recording: Recording,
  own: Forms = OWN_FORMS,
): Promise<LedgerIdentity> {
  const identified: LedgerEvent = {
    type: 'LedgerIdentified',
    data: { ledgerId: newLedgerId(nowMs), generation: 1, identifiedAt: recording.recordedAt },
  };
  const proposed = encodeEvents([identified], recording);
  const newborn = encodeEvents([identified, ...adoptedAtBirth(own, recording)], recording);
  for (let attempt = 1; ; attempt++) {
    const { identity } = await readLedgerState(log, own);
    if (identity !== null) return identity;
    try {
      const isNew = (await log.headPosition()) === null;
      await log.append(LEDGER_STREAM, NO_STREAM, isNew ? newborn : proposed);
    } catch (error) {
      // Whether it was written, the next reading tells.
      if (!isLogAway(error) || attempt >= IDENTITY_LIMITS.identifyAttempts) throw error;
    }
    if (attempt >= IDENTITY_LIMITS.identifyAttempts)
      throw new EventLogError('unavailable', 'the log does not show which ledger it holds');
  }
}

/** Nobody has written to it, or serves it: what this program reads may be written from the first event on. */
function adoptedAtBirth(own: Forms, recording: Recording): LedgerEvent[] {
  const forms = formsBeyond(own, BASE_FORMS);
  if (Object.keys(forms).length === 0) return [];
  const data = { forms, without: [], reason: 'a new ledger', actor: recording.actor };
  return [{ type: 'FormsAdopted', data }];
}
