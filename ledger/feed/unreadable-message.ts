import type { RecordBatch } from './record-batch.ts';
import type { FeedRecord } from './record-decoder.ts';
import { UnreadableTopicError } from './topic-settings.ts';

interface MessagePlace {
  readonly topic: string;
  readonly partition: number;
  readonly offset: bigint;
}

/** A message of the topic that is none of the feed's, and where it stands. */
export class UnreadableMessageError extends Error {
  override readonly name = 'UnreadableMessageError';

  constructor(place: MessagePlace, cause: Error) {
    super(`${nameOf(place)}: ${cause.message}`, { cause });
  }
}

const nameOf = ({ topic, partition, offset }: MessagePlace): string =>
  `${topic} partition ${partition} offset ${offset}`;

/** Of a batch, from an offset on. @throws UnreadableTopicError, with the place and what to do */
export async function recordsOf(batch: RecordBatch, place: MessagePlace): Promise<FeedRecord[]> {
  try {
    return await batch.records(place.offset);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new UnreadableTopicError(
      `${nameOf(place)}: ${error.message}; no reader of the feed comes past it, so that another topic is needed (\`gateway relay fill NEW\`)`,
      { cause: error },
    );
  }
}
