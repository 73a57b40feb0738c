import { decodeEvent } from '../../contracts/event-codec.ts';
import type { RecordedEvent } from '../../contracts/event-log.ts';
import { LEDGER_STREAM } from '../../contracts/ids.ts';
import type { LedgerIdentity } from '../../contracts/ledger-identity.ts';
import { LedgerLostError } from '../identity/ledger-lost.ts';

/** What of some events a relay publishes as one generation's, and why it stops behind them; null where it does not. */
interface WithinGeneration {
  readonly events: readonly RecordedEvent[];
  readonly end: LedgerLostError | null;
}

/**
 * A topic has one generation of a ledger: up to the event that begins the next one, which tells those who read the topic
 * that it has ended.
 */
export function withinGeneration(events: readonly RecordedEvent[], { generation }: LedgerIdentity): WithinGeneration {
  for (const [index, event] of events.entries()) {
    const begun = generationOf(event);
    if (begun === null || begun <= generation) continue;
    const end = new LedgerLostError(
      `a loss of the ledger was accepted: its generation ${begun} has begun, and the topic is of generation ${generation}. ` +
        'Name a new topic in kafka.topic: a new generation asks for one',
    );
    return { events: events.slice(0, index + 1), end };
  }
  return { events, end: null };
}

/** Null for an event that says nothing of it. What cannot be read is told by whoever publishes it. */
function generationOf(recorded: RecordedEvent): number | null {
  if (recorded.stream !== LEDGER_STREAM) return null;
  try {
    const event = decodeEvent(recorded);
    return event.type === 'LossAccepted' || event.type === 'LedgerIdentified' ? event.data.generation : null;
  } catch {
    return null;
  }
}
