import type { Admin } from 'kafkajs';
import type { Logger } from 'pino';
import type { KafkaConfiguration } from '../../contracts/kafka-configuration.ts';
import { closeWithin } from '../feed/close-within.ts';
import type { KafkaClient } from '../feed/kafka-client.ts';
import { FEED_LIMITS } from '../feed/limits.ts';
import { isEmptyTopic, offsetsOf } from '../feed/topic-offsets.ts';
import { readTail } from '../feed/topic-tail.ts';
import { whileItPasses } from '../feed/while-it-passes.ts';
import { PublishError, type TopicState } from './publisher.ts';
import { refuseCompaction } from './topic-settings.ts';

/**
 * The feed's topic: created where there is none, with a partition count that stays for ever and messages that are kept
 * for ever. Its names are listed first, because asking for a topic that is not there makes some brokers create one.
 *
 * @throws PublishError `mismatch` when it has another number of partitions, or is compacted; whatever the driver throws
 */
export async function ensureTopic(
  client: KafkaClient,
  { topic, partitions, replicationFactor }: KafkaConfiguration,
  logger?: Logger,
): Promise<TopicState> {
  const admin = client.admin({ retry: { retries: 0 } });
  try {
    await admin.connect();
    if ((await admin.listTopics()).includes(topic)) {
      await refuseCompaction(admin, topic, logger);
      return await stateOf(client, admin, { topic, partitions });
    }
    await admin.createTopics({
      timeout: FEED_LIMITS.requestMs,
      waitForLeaders: false,
      topics: [
        {
          topic,
          numPartitions: partitions,
          replicationFactor,
          configEntries: [
            { name: 'retention.ms', value: '-1' },
            { name: 'retention.bytes', value: '-1' },
            { name: 'cleanup.policy', value: 'delete' },
          ],
        },
      ],
    });
    // What was just made is not known to every broker yet.
    return await whileItPasses(() => stateOf(client, admin, { topic, partitions }));
  } finally {
    await closeWithin(FEED_LIMITS.closeMs, () => admin.disconnect());
  }
}

async function stateOf(
  client: KafkaClient,
  admin: Admin,
  { topic, partitions }: Pick<KafkaConfiguration, 'topic' | 'partitions'>,
): Promise<TopicState> {
  const found = await offsetsOf(admin, topic);
  if (found.size !== partitions) throw mismatch(topic, found.size, partitions);
  return { isEmpty: isEmptyTopic(found), tail: await readTail(client, topic, found) };
}

export const mismatch = (topic: string, found: number, configured: number): PublishError =>
  new PublishError(
    'mismatch',
    `the topic ${topic} has ${found} partitions, the configuration says ${configured}: kafka.partitions must be ${found}, ` +
      'or kafka.topic another name, which is then filled from the beginning',
  );
