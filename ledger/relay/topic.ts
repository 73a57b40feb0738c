import type { Admin, Kafka } from 'kafkajs';
import type { Logger } from 'pino';
import type { KafkaConfiguration } from '../../contracts/kafka-configuration.ts';
import { closeWithin } from '../feed/close-within.ts';
import { FEED_LIMITS } from '../feed/limits.ts';
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
  kafka: Kafka,
  { topic, partitions, replicationFactor }: KafkaConfiguration,
  logger?: Logger,
): Promise<TopicState> {
  const admin = kafka.admin({ retry: { retries: 0 } });
  try {
    await admin.connect();
    if ((await admin.listTopics()).includes(topic)) {
      await refuseCompaction(admin, topic, logger);
      return await stateOf(admin, topic, partitions);
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
    return await whileItPasses(() => stateOf(admin, topic, partitions));
  } finally {
    await closeWithin(FEED_LIMITS.closeMs, () => admin.disconnect());
  }
}

async function stateOf(admin: Admin, topic: string, partitions: number): Promise<TopicState> {
  const offsets = await admin.fetchTopicOffsets(topic);
  if (offsets.length !== partitions) throw mismatch(topic, offsets.length, partitions);
  return { isEmpty: offsets.every(({ high }) => BigInt(high) === 0n) };
}

export const mismatch = (topic: string, found: number, configured: number): PublishError =>
  new PublishError(
    'mismatch',
    `the topic ${topic} has ${found} partitions, the configuration says ${configured}: kafka.partitions must be ${found}, ` +
      'or kafka.topic another name, which is then filled from the beginning',
  );
