import { type FeedEvent, FeedMessageError, readFeedMessage } from '../../contracts/feed-message.ts';
import { closeWithin } from './close-within.ts';
import type { KafkaClient } from './kafka-client.ts';
import { type Cluster, clusterOf } from './kafkajs-internals.ts';
import { FEED_LIMITS } from './limits.ts';
import type { RecordBatch } from './record-batch.ts';
import type { FeedRecord } from './record-decoder.ts';
import type { PartitionOffsets } from './topic-offsets.ts';
import { recordsOf } from './unreadable-message.ts';

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
  const wanted = [...partitions].map(([partition, { low, high }]) => new PartitionTail(partition, low, high));
  const events: TailEvent[] = [];
  let strangers = 0;
  if (wanted.every(({ isRead }) => isRead)) return { events, strangers };
  const cluster = clusterOf(client);
  try {
    await cluster.connect();
    await cluster.addTargetTopic(topic);
    await cluster.refreshMetadata();
    for (let round = 0; wanted.some(({ isRead }) => !isRead); round++) {
      if (round === FEED_LIMITS.tailRoundsMax) throw new Error(`the last messages of ${topic} do not come`);
      await fetchOnce(cluster, topic, wanted);
    }
  } finally {
    await closeWithin(FEED_LIMITS.closeMs, () => cluster.disconnect());
  }
  for (const { partition, messages } of wanted)
    for (const message of messages) {
      const event = eventOf(message);
      if (event === null) strangers++;
      else events.push({ ...event, partition });
    }
  return { events, strangers };
}

class PartitionTail {
  readonly partition: number;
  readonly messages: FeedRecord[] = [];
  /** Offset of the next message. */
  next: bigint;
  readonly #high: bigint;

  constructor(partition: number, low: bigint, high: bigint) {
    const from = high - BigInt(FEED_LIMITS.tailMessages);
    this.partition = partition;
    this.next = from > low ? from : low;
    this.#high = high;
  }

  /** Up to what was there when it was asked for. */
  get isRead(): boolean {
    return this.next >= this.#high;
  }

  /** @throws UnreadableTopicError */
  async take(topic: string, fetched: readonly RecordBatch[]): Promise<void> {
    for (const batch of fetched) {
      const records = await recordsOf(batch, { topic, partition: this.partition, offset: this.next });
      for (const record of records) if (record.offset < this.#high) this.messages.push(record);
      this.next = batch.nextOffset;
    }
  }
}

async function fetchOnce(cluster: Cluster, topic: string, wanted: readonly PartitionTail[]): Promise<void> {
  const open = new Map(wanted.filter(({ isRead }) => !isRead).map((tail) => [tail.partition, tail]));
  const leaders = cluster.findLeaderForPartitions(topic, [...open.keys()]);
  for (const [nodeId, partitions] of Object.entries(leaders)) {
    const broker = await cluster.findBroker({ nodeId });
    const { responses } = await broker.fetch({
      replicaId: -1,
      isolationLevel: 1,
      maxWaitTime: FEED_LIMITS.fetchWaitMs,
      minBytes: 1,
      maxBytes: FEED_LIMITS.fetchBytes,
      topics: [
        {
          topic,
          partitions: partitions.map((partition) => ({
            partition,
            fetchOffset: String(open.get(partition)?.next ?? 0n),
            maxBytes: FEED_LIMITS.partitionBytes,
          })),
        },
      ],
    });
    for (const response of responses)
      for (const { partition, messages } of response.partitions) await open.get(partition)?.take(topic, messages);
  }
}

function eventOf(message: FeedRecord): FeedEvent | null {
  try {
    return readFeedMessage(message);
  } catch (error) {
    if (error instanceof FeedMessageError) return null;
    throw error;
  }
}
