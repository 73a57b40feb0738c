import type { ReadableLog } from '../../contracts/event-log.ts';
import { SEALS_STREAM } from '../../contracts/ids.ts';
import { hexOf, sha256 } from './merkle.ts';
import type { LedgerSealed } from './seal-signature.ts';
import { readSealEvent } from './sealed-sequence.ts';

/** With the hash of its stored text, by which the next one names it, and whoever keeps it elsewhere. */
interface NewestSeal {
  readonly seal: LedgerSealed;
  readonly sha256: string;
}

/** Null where nothing is sealed. @throws EventLogError, UnreadableEventError */
export async function newestSeal(log: ReadableLog): Promise<NewestSeal | null> {
  for await (const recorded of log.readStream(SEALS_STREAM, { direction: 'backwards' })) {
    const event = readSealEvent(recorded);
    if (event.type === 'LedgerSealed') return { seal: event.data, sha256: hexOf(sha256(recorded.data)) };
  }
  return null;
}
