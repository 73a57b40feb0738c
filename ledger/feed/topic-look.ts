import { closeWithin } from './close-within.ts';
import type { KafkaClient } from './kafka-client.ts';
import { FEED_LIMITS } from './limits.ts';
import { offsetsOf, type PartitionOffsets } from './topic-offsets.ts';
import { readTail, type TopicTail } from './topic-tail.ts';

/** What a topic holds. */
export interface TopicLook {
  readonly partitions: ReadonlyMap<number, PartitionOffsets>;
  readonly tail: TopicTail;
}

/** Looks at a topic that is there. @throws Error where there is no such topic yet, no answer, or the signal is aborted */
export async function lookAtTopic(client: KafkaClient, topic: string, signal: AbortSignal): Promise<TopicLook> {
  const admin = client.admin({ retry: { retries: 0 } });
  const cut = (): void => client.cut();
  signal.addEventListener('abort', cut);
  try {
    await admin.connect();
    // Asking for a topic that is not there makes some brokers create one, with a partition count of their own.
    if (!(await admin.listTopics()).includes(topic))
      throw new Error(`there is no topic ${topic} yet, or none that this client may see`);
    const partitions = await offsetsOf(admin, topic);
    return { partitions, tail: await readTail(client, topic, partitions) };
  } finally {
    signal.removeEventListener('abort', cut);
    await closeWithin(FEED_LIMITS.closeMs, () => admin.disconnect());
  }
}
