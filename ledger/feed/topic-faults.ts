import type { KafkaConfiguration } from '../../contracts/kafka-configuration.ts';
import type { TopicLook } from './topic-look.ts';

/** As far as a topic is judged by it. */
export type JudgedTopic = Pick<TopicLook, 'partitions' | 'settings' | 'replicas'>;

/** Why a topic must not be used, whoever made it; null where nothing is known that speaks against it. */
export function refusalOf(
  topic: string,
  look: JudgedTopic,
  doubtful: KafkaConfiguration['doubtfulTopic'],
): string | null {
  const policy = look.settings?.cleanupPolicy;
  if (policy?.includes('compact') === true)
    return (
      `the topic ${topic} is compacted (cleanup.policy=${policy}): Kafka deletes all events of an account but its newest. ` +
      'Set cleanup.policy=delete before anything is written; where something was, kafka.topic must be another name, ' +
      'which is then filled from the beginning'
    );
  const doubts = doubtful === 'refuse' ? doubtsOf(look) : [];
  return doubts.length === 0
    ? null
    : `the topic ${topic} can lose messages (kafka.doubtfulTopic): ${doubts.join('; ')}`;
}

/** By what a topic may lose what it was given. What the broker does not say is in no doubt. */
export function doubtsOf({ partitions, settings, replicas }: JudgedTopic): string[] {
  const doubts: string[] = [];
  const { retentionMs, retentionBytes, minInsyncReplicas } = settings ?? {};
  if (isBound(retentionMs))
    doubts.push(
      `retention.ms is ${retentionMs}: what is older is deleted, and who reads from the beginning finds a gap`,
    );
  if (isBound(retentionBytes))
    doubts.push(
      `retention.bytes is ${retentionBytes}: what is beyond is deleted, and who reads from the beginning finds a gap`,
    );
  if (replicas === 1) doubts.push('it has one replica: what it has is gone with one broker');
  if (minInsyncReplicas === 1)
    doubts.push('min.insync.replicas is 1: what one broker alone has acknowledged is gone with it');
  const begun = beginningLost(partitions, () => 0n);
  if (begun !== null) doubts.push(`${begun}, and who reads from the beginning finds a gap`);
  return doubts;
}

const isBound = (bound: number | null | undefined): boolean => bound !== null && bound !== undefined && bound >= 0;

/**
 * Which partition lacks messages that somebody needs; null where none does.
 * @param from the first offset that is needed of a partition
 */
export function beginningLost(partitions: TopicLook['partitions'], from: (partition: number) => bigint): string | null {
  for (const [partition, { low }] of partitions)
    if (low > from(partition))
      return `partition ${partition} begins at offset ${low}, what stood before it was deleted`;
  return null;
}
