import { closeWithin } from './close-within.ts';
import type { KafkaClient } from './kafka-client.ts';
import { type Cluster, clusterOf } from './kafkajs-internals.ts';
import { FEED_LIMITS } from './limits.ts';
import type { RecordBatch } from './record-batch.ts';
import type { FeedRecord } from './record-decoder.ts';
import { recordsOf } from './unreadable-message.ts';

interface Stretch {
  readonly partition: number;
  /** Offset of its first message. */
  readonly from: bigint;
  /** The offset behind its last one. */
  readonly to: bigint;
}

/** What is to be read of one partition, and how far that is. */
export class PartitionStretch {
  readonly partition: number;
  /** Offset of the next message. */
  next: bigint;
  readonly #to: bigint;
  readonly #onRecords: (records: readonly FeedRecord[]) => void | Promise<void>;

  constructor({ partition, from, to }: Stretch, onRecords: (records: readonly FeedRecord[]) => void | Promise<void>) {
    this.partition = partition;
    this.next = from;
    this.#to = to;
    this.#onRecords = onRecords;
  }

  get isRead(): boolean {
    return this.next >= this.#to;
  }

  /** @throws UnreadableTopicError, what `onRecords` throws */
  async take(topic: string, fetched: readonly RecordBatch[]): Promise<void> {
    for (const batch of fetched) {
      const records = await recordsOf(batch, { topic, partition: this.partition, offset: this.next });
      await this.#onRecords(records.filter(({ offset }) => offset < this.#to));
      this.next = batch.nextOffset;
    }
  }
}

/**
 * Reads a topic's partitions as far as is wanted, without a consumer group, for which rights and seconds are needed.
 * @throws UnreadableTopicError; Error where there is no answer
 */
export async function fetchStretches(
  client: KafkaClient,
  topic: string,
  wanted: readonly PartitionStretch[],
): Promise<void> {
  if (wanted.every(({ isRead }) => isRead)) return;
  const cluster = clusterOf(client);
  try {
    await cluster.connect();
    await cluster.addTargetTopic(topic);
    await cluster.refreshMetadata();
    let inVain = 0;
    while (wanted.some(({ isRead }) => !isRead)) {
      const before = sumOf(wanted);
      await fetchOnce(cluster, topic, wanted);
      inVain = sumOf(wanted) > before ? 0 : inVain + 1;
      if (inVain === FEED_LIMITS.fetchesInVainMax) throw new Error(`the messages of ${topic} do not come`);
    }
  } finally {
    await closeWithin(FEED_LIMITS.closeMs, () => cluster.disconnect());
  }
}

const sumOf = (wanted: readonly PartitionStretch[]): bigint => wanted.reduce((sum, { next }) => sum + next, 0n);

async function fetchOnce(cluster: Cluster, topic: string, wanted: readonly PartitionStretch[]): Promise<void> {
  const open = new Map(wanted.filter(({ isRead }) => !isRead).map((stretch) => [stretch.partition, stretch]));
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
