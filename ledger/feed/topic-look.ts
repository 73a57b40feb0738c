import type { Admin } from 'kafkajs';
import { closeWithin } from './close-within.ts';
import type { KafkaClient } from './kafka-client.ts';
import { FEED_LIMITS } from './limits.ts';
import { offsetsOf, type PartitionOffsets } from './topic-offsets.ts';
import { assertReadable, replicasOf, settingsOf, type TopicSettings } from './topic-settings.ts';
import { readTail, type TopicTail } from './topic-tail.ts';

/** What a topic holds. */
export interface TopicLook {
  readonly partitions: ReadonlyMap<number, PartitionOffsets>;
  /** Null where it is not known. */
  readonly replicas: number | null;
  /** Null where this client may not look. */
  readonly settings: TopicSettings | null;
  readonly tail: TopicTail;
}

/** Kafka answers, and has no such topic for this client. */
export class NoTopicError extends Error {
  override readonly name = 'NoTopicError';
}

/** Looks at a topic that is there. @throws NoTopicError; Error where there is no answer, or the signal is aborted */
export async function lookAtTopic(client: KafkaClient, topic: string, signal: AbortSignal): Promise<TopicLook> {
  const admin = client.admin({ retry: { retries: 0 } });
  const cut = (): void => client.cut();
  signal.addEventListener('abort', cut);
  try {
    await admin.connect();
    // Asking for a topic that is not there makes some brokers create one, with a partition count of their own.
    if (!(await admin.listTopics()).includes(topic))
      throw new NoTopicError(
        `there is no topic ${topic} yet, or none that this client may see: \`gateway relay\` makes it`,
      );
    return await lookWith(admin, client, topic);
  } finally {
    signal.removeEventListener('abort', cut);
    await closeWithin(FEED_LIMITS.closeMs, () => admin.disconnect());
  }
}

/** The same over a connection that is there. @throws UnreadableTopicError, too */
export async function lookWith(admin: Admin, client: KafkaClient, topic: string): Promise<TopicLook> {
  const partitions = await offsetsOf(admin, topic);
  const settings = await settingsOf(admin, topic);
  // Before the tail is read, which it may be that nobody can.
  assertReadable(topic, settings);
  return {
    partitions,
    replicas: await replicasOf(admin, topic),
    settings,
    tail: await readTail(client, topic, partitions),
  };
}
