import type { Admin } from 'kafkajs';
import type { Logger } from 'pino';
import { causes, faultTypes, reasonOf } from '../feed/kafka-fault.ts';
import { PublishError } from './publisher.ts';

/**
 * A topic that somebody made, or changed, may be one that deletes what it is given: compaction keeps the newest event of
 * each account, and the others are gone in silence. Looked at whenever the relay connects.
 *
 * @throws PublishError `mismatch`; whatever the driver throws
 */
export async function refuseCompaction(admin: Admin, topic: string, logger?: Logger): Promise<void> {
  const policy = await cleanupPolicy(admin, topic, logger);
  if (policy?.includes('compact') !== true) return;
  throw new PublishError(
    'mismatch',
    `the topic ${topic} is compacted (cleanup.policy=${policy}): Kafka deletes all events of an account but its newest. ` +
      'Set cleanup.policy=delete before anything is written; where something was, kafka.topic must be another name, ' +
      'which is then filled from the beginning',
  );
}

/** The driver's ConfigResourceTypes.TOPIC, which it does not export in a way that Node sees. */
export const TOPIC_RESOURCE = 2;

/** Null where it cannot be known: a relay does its work also without the right to look. */
async function cleanupPolicy(admin: Admin, topic: string, logger?: Logger): Promise<string | null> {
  try {
    const { resources } = await admin.describeConfigs({
      includeSynonyms: false,
      resources: [{ type: TOPIC_RESOURCE, name: topic, configNames: ['cleanup.policy'] }],
    });
    return resources[0]?.configEntries[0]?.configValue ?? null;
  } catch (error) {
    if (!isUnanswered(error)) throw error;
    logger?.info({ topic, reason: reasonOf(error) }, 'whether the topic is compacted cannot be looked at');
    return null;
  }
}

/** A broker that does not know the question, or a cluster that names no controller to ask. */
const UNANSWERABLE = new Set(['KafkaJSServerDoesNotSupportApiKey', 'KafkaJSBrokerNotFound']);

const isUnanswered = (error: unknown): boolean =>
  faultTypes(error).some((type) => type.endsWith('_AUTHORIZATION_FAILED')) ||
  causes(error).some(({ name }) => UNANSWERABLE.has(name));
