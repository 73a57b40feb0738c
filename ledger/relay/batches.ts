import type { RecordedEvent } from '../../contracts/event-log.ts';
import { RELAY_LIMITS } from './limits.ts';

/** Events in the same order, in pieces that one send may hold; a single event that is larger stands alone. */
export function* batches(events: readonly RecordedEvent[]): Generator<readonly RecordedEvent[]> {
  let batch: RecordedEvent[] = [];
  let bytes = 0;
  for (const event of events) {
    const size = sizeOf(event);
    const isFull = batch.length === RELAY_LIMITS.batchMessagesMax || bytes + size > RELAY_LIMITS.batchBytesMax;
    if (isFull && batch.length > 0) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(event);
    bytes += size;
  }
  if (batch.length > 0) yield batch;
}

const sizeOf = ({ data, metadata }: RecordedEvent): number =>
  Buffer.byteLength(data) + Buffer.byteLength(metadata) + RELAY_LIMITS.messageOverheadBytes;
