import type { ReadableLog, RecordedEvent } from '../../contracts/event-log.ts';
import type { StreamName } from '../../contracts/ids.ts';
import { counted } from '../../contracts/money.ts';
import { verifySeals } from '../seals/verify-seals.ts';
import { ComparedTarget, type SamePlace } from './compare-logs.ts';
import { CopyError } from './copy-error.ts';

export interface VerifiedCopy {
  /** The last event that both have; null where there is none. */
  readonly place: SamePlace | null;
  readonly events: number;
  readonly seals: number;
  /** Streams of relays, whose checkpoints are positions of the source. */
  readonly relays: ReadonlySet<StreamName>;
}

/**
 * Reads the target from its beginning to its end, once: each event is the source's in the source's order, and its seals hold
 * over what stands in it. @throws CopyError; EventLogError
 */
export async function verifyCopy(
  source: ReadableLog,
  target: ReadableLog,
  onCompared: (event: RecordedEvent) => void,
): Promise<VerifiedCopy> {
  const compared = new ComparedTarget(source, target, { after: null, onCompared });
  const { verdict, faults, seals } = await verifySeals(compared, { keys: null, anchors: [], leaves: null });
  const { place, events } = compared;
  if (verdict === 'damaged')
    throw new CopyError(
      `the target is the same as the source in ${counted(events, 'event')}, and not as it was sealed ` +
        `(${faults[0]?.problem}): gateway ledger verify --seals says more. Such a ledger is not moved`,
    );
  return { place, events, seals, relays: compared.relays };
}
