import type { RecordBatch } from './record-batch.ts';
import type { FeedRecord } from './record-decoder.ts';

interface MessagePlace {
  readonly topic: string;
  readonly partition: number;
  readonly offset: bigint;
}

/** A message of the topic that is none of the feed's, or a batch that cannot be read at all, and where it stands. */
export class UnreadableMessageError extends Error {
  override readonly name = 'UnreadableMessageError';

  constructor({ topic, partition, offset }: MessagePlace, cause: Error) {
    super(`${topic} partition ${partition} offset ${offset}: ${cause.message}`, { cause });
  }
}

/** Of a batch, from an offset on. @throws UnreadableMessageError */
export async function recordsOf(batch: RecordBatch, place: MessagePlace): Promise<FeedRecord[]> {
  try {
    return await batch.records(place.offset);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new UnreadableMessageError(place, error);
  }
}
