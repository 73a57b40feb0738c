import { encodeEvents, type Recording } from '../../contracts/event-codec.ts';
import type { EventLog } from '../../contracts/event-log.ts';
import type { LedgerEvent } from '../../contracts/events.ts';
import { LEDGER_STREAM, type LedgerId } from '../../contracts/ids.ts';
import type { LedgerIdentity } from '../../contracts/ledger-identity.ts';
import type { LostEvents } from './find-lost.ts';
import { newLedgerId } from './identify-ledger.ts';
import type { LedgerState } from './ledger-state.ts';
import { IDENTITY_LIMITS } from './limits.ts';
import type { UnsettleableRequest } from './unsettleable.ts';

interface AcceptedLoss extends LostEvents {
  readonly state: LedgerState;
  /** What the folder knows of the ledger's identity; null where that is from before. */
  readonly known: LedgerIdentity | null;
  readonly requests: readonly UnsettleableRequest[];
  readonly reason: string;
  readonly nowMs: number;
  readonly recording: Recording;
}

/**
 * Writes down what is given up, and begins the next generation. A ledger that has lost its identity with the rest is
 * given back the one that is known. Null when others wrote to the stream `ledger` in between. @throws EventLogError
 */
export async function acceptLoss(log: EventLog, accepted: AcceptedLoss): Promise<LedgerIdentity | null> {
  const { state, known, recording, nowMs } = accepted;
  const ledgerId = state.identity?.ledgerId ?? known?.ledgerId ?? newLedgerId(nowMs);
  const generation = nextGeneration(state, known);
  const identified: LedgerEvent[] =
    state.identity === null
      ? [{ type: 'LedgerIdentified', data: { ledgerId, generation: 1, identifiedAt: recording.recordedAt } }]
      : [];
  const events = [...identified, lossAccepted(accepted, ledgerId, generation)];
  const result = await log.append(LEDGER_STREAM, state.revision, encodeEvents(events, recording));
  return result.type === 'appended' ? { ledgerId, generation } : null;
}

/** The one after the newest that anybody knows. */
export const nextGeneration = (state: LedgerState, known: LedgerIdentity | null): number =>
  1 + Math.max(state.identity?.generation ?? 1, known?.generation ?? 1);

function lossAccepted(
  { lost, untold, requests, reason, recording }: AcceptedLoss,
  ledgerId: LedgerId,
  generation: number,
): LedgerEvent {
  const max = IDENTITY_LIMITS.namedInEvent;
  return {
    type: 'LossAccepted',
    data: {
      ledgerId,
      generation,
      lost: lost.slice(0, max).map(({ stream, sharedAtLeast, sharedAtMost, revision, knownBy }) => ({
        ...{ stream, sharedAtLeast, sharedAtMost },
        known: revision,
        knownBy: [...knownBy],
      })),
      lostLeftOut: Math.max(0, lost.length - max),
      untold,
      requests: requests.slice(0, max).map(({ requestId, accountId, cause }) => ({ requestId, accountId, cause })),
      requestsLeftOut: Math.max(0, requests.length - max),
      reason,
      actor: recording.actor,
    },
  };
}
