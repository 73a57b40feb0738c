import { closeWithin } from './close-within.ts';
import type { KafkaClient } from './kafka-client.ts';
import { FEED_LIMITS } from './limits.ts';

export interface PartitionOffsets {
  /** Of the first message that is kept. */
  readonly low: bigint;
  /** Of the next message that will be written. */
  readonly high: bigint;
}

/** What a topic holds, by partition. @throws Error where there is no such topic yet, no answer, or the signal is aborted */
export async function topicOffsets(
  client: KafkaClient,
  topic: string,
  signal: AbortSignal,
): Promise<ReadonlyMap<number, PartitionOffsets>> {
  const admin = client.admin({ retry: { retries: 0 } });
  const cut = (): void => client.cut();
  signal.addEventListener('abort', cut);
  try {
    await admin.connect();
    // Asking for a topic that is not there makes some brokers create one, with a partition count of their own.
    if (!(await admin.listTopics()).includes(topic))
      throw new Error(`there is no topic ${topic} yet, or none that this client may see`);
    const offsets = await admin.fetchTopicOffsets(topic);
    return new Map(offsets.map(({ partition, low, high }) => [partition, { low: BigInt(low), high: BigInt(high) }]));
  } finally {
    signal.removeEventListener('abort', cut);
    await closeWithin(FEED_LIMITS.closeMs, () => admin.disconnect());
  }
}
