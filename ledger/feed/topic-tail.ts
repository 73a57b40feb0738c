import { type FeedEvent, FeedMessageError, readFeedMessage } from '../../contracts/feed-message.ts';
import { fetchStretches, PartitionStretch } from './fetch-stretches.ts';
import type { KafkaClient } from './kafka-client.ts';
import { FEED_LIMITS } from './limits.ts';
import type { FeedRecord } from './record-decoder.ts';
import type { PartitionOffsets } from './topic-offsets.ts';

/** The last messages of each partition: whose the topic is, and how far its ledger had come. */
export interface TopicTail {
  /** Partition by partition, in order. */
  readonly events: readonly TailEvent[];
  /** How many of the last messages are none of the feed's. */
  readonly strangers: number;
}

export type TailEvent = FeedEvent & { readonly partition: number };

/** Several of a partition, because the very last may be such as came again. @throws UnreadableTopicError; Error where there is no answer */
export async function readTail(
  client: KafkaClient,
  topic: string,
  partitions: ReadonlyMap<number, PartitionOffsets>,
): Promise<TopicTail> {
  const tails = [...partitions].map(([partition, { low, high }]) => {
    const messages: FeedRecord[] = [];
    const last = high - BigInt(FEED_LIMITS.tailMessages);
    const stretch = new PartitionStretch({ partition, from: last > low ? last : low, to: high }, (records) => {
      messages.push(...records);
    });
    return { partition, messages, stretch };
  });
  await fetchStretches(
    client,
    topic,
    tails.map(({ stretch }) => stretch),
  );
  const events: TailEvent[] = [];
  let strangers = 0;
  for (const { partition, messages } of tails)
    for (const message of messages) {
      const event = eventOf(message);
      if (event === null) strangers++;
      else events.push({ ...event, partition });
    }
  return { events, strangers };
}

function eventOf(message: FeedRecord): FeedEvent | null {
  try {
    return readFeedMessage(message);
  } catch (error) {
    if (error instanceof FeedMessageError) return null;
    throw error;
  }
}
