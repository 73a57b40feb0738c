import type { Admin } from 'kafkajs';
import type { KafkaConfiguration } from '../../contracts/kafka-configuration.ts';
import { closeWithin } from '../feed/close-within.ts';
import type { KafkaClient } from '../feed/kafka-client.ts';
import { FEED_LIMITS } from '../feed/limits.ts';
import { refusalOf } from '../feed/topic-faults.ts';
import { lookWith, type TopicLook } from '../feed/topic-look.ts';
import { whileItPasses } from '../feed/while-it-passes.ts';
import { assertPartitionCount } from './partition-count.ts';
import { PublishError } from './publisher.ts';

/** As far as the topic's making and its judgement go by it. */
type TopicConfiguration = Pick<
  KafkaConfiguration,
  'topic' | 'partitions' | 'replicationFactor' | 'minInsyncReplicas' | 'doubtfulTopic'
>;

/**
 * The feed's topic: created where there is none, with a partition count that stays for ever and messages that are kept
 * for ever. Its names are listed first, because asking for a topic that is not there makes some brokers create one.
 *
 * @throws PublishError `mismatch` when it has another number of partitions, is compacted, or can lose messages and the
 * configuration refuses that; the signal's reason, and then there is none; whatever the driver throws
 */
export async function ensureTopic(
  client: KafkaClient,
  configuration: TopicConfiguration,
  signal: AbortSignal,
): Promise<TopicLook> {
  const { topic } = configuration;
  const admin = client.admin({ retry: { retries: 0 } });
  try {
    await admin.connect();
    if ((await admin.listTopics()).includes(topic))
      return await judged(await lookWith(admin, client, topic), configuration);
    await createTopic(admin, configuration, signal);
    // What was just made is not known to every broker yet.
    return await whileItPasses(async () => judged(await lookWith(admin, client, topic), configuration));
  } finally {
    await closeWithin(FEED_LIMITS.closeMs, () => admin.disconnect());
  }
}

/** @throws PublishError `mismatch` */
export function judged(look: TopicLook, { topic, partitions, doubtfulTopic }: TopicConfiguration): TopicLook {
  assertPartitionCount(topic, look, partitions);
  const refusal = refusalOf(topic, look, doubtfulTopic);
  if (refusal !== null) throw new PublishError('mismatch', refusal);
  return look;
}

const REPLICAS = 3;
const INSYNC_REPLICAS = 2;

async function createTopic(admin: Admin, configuration: TopicConfiguration, signal: AbortSignal): Promise<void> {
  const { topic, partitions } = configuration;
  const { replicationFactor, minInsyncReplicas } = replicationFor(
    configuration,
    configuration.replicationFactor === undefined ? (await admin.describeCluster()).brokers.length : 0,
  );
  const insync = minInsyncReplicas === null ? [] : [{ name: 'min.insync.replicas', value: String(minInsyncReplicas) }];
  signal.throwIfAborted();
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
          { name: 'compression.type', value: 'producer' },
          ...insync,
        ],
      },
    ],
  });
}

/**
 * What the configuration names; else three replicas of which two have to have a message, or as many as the brokers that
 * there are allow. Of two replicas one has to have it, so that one broker can be away, which is a doubt that is told; where
 * doubtful topics are refused, both. `minInsyncReplicas` null is the cluster's own default.
 */
export function replicationFor(
  {
    replicationFactor,
    minInsyncReplicas,
    doubtfulTopic,
  }: Pick<TopicConfiguration, 'replicationFactor' | 'minInsyncReplicas' | 'doubtfulTopic'>,
  brokers: number,
): { replicationFactor: number; minInsyncReplicas: number | null } {
  const replicas = replicationFactor ?? Math.max(1, Math.min(REPLICAS, brokers));
  const present = doubtfulTopic === 'refuse' ? replicas : Math.max(1, replicas - 1);
  const insync = replicas === -1 ? null : Math.min(INSYNC_REPLICAS, present);
  return { replicationFactor: replicas, minInsyncReplicas: minInsyncReplicas ?? insync };
}
