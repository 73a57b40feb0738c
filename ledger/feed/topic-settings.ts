import type { Admin } from 'kafkajs';
import { causes, faultTypes } from './kafka-fault.ts';

/** How a topic keeps what it is given; null for what the broker does not say. */
export interface TopicSettings {
  readonly cleanupPolicy: string | null;
  /** Milliseconds; -1 is for ever. */
  readonly retentionMs: number | null;
  /** Of a partition; -1 is without a bound. */
  readonly retentionBytes: number | null;
  readonly minInsyncReplicas: number | null;
  /** What brokers compress messages with, whatever they came with; `producer` leaves them as they are. */
  readonly compressionType: string | null;
}

/** The driver's ConfigResourceTypes.TOPIC, which it does not export in a way that Node sees. */
export const TOPIC_RESOURCE = 2;

const NAMES = ['cleanup.policy', 'retention.ms', 'retention.bytes', 'min.insync.replicas', 'compression.type'];

/** Null where it cannot be known: everybody does his work also without the right to look. @throws whatever the driver throws */
export async function settingsOf(admin: Admin, topic: string): Promise<TopicSettings | null> {
  try {
    const { resources } = await admin.describeConfigs({
      includeSynonyms: false,
      resources: [{ type: TOPIC_RESOURCE, name: topic, configNames: NAMES }],
    });
    const entries = resources[0]?.configEntries ?? [];
    const values = new Map(entries.map(({ configName, configValue }) => [configName, configValue]));
    const number = (name: string): number | null => (values.has(name) ? Number(values.get(name)) : null);
    return {
      cleanupPolicy: values.get('cleanup.policy') ?? null,
      retentionMs: number('retention.ms'),
      retentionBytes: number('retention.bytes'),
      minInsyncReplicas: number('min.insync.replicas'),
      compressionType: values.get('compression.type') ?? null,
    };
  } catch (error) {
    if (!isUnanswered(error)) throw error;
    return null;
  }
}

/** Nobody of ours can read what the topic has or is given, and to ask again does not help. */
export class UnreadableTopicError extends Error {}

const READABLE = new Set(['producer', 'uncompressed', 'none', 'gzip', 'zstd']);

/** @throws UnreadableTopicError */
export function assertReadable(topic: string, settings: TopicSettings | null): void {
  const type = settings?.compressionType ?? null;
  if (type === null || READABLE.has(type)) return;
  throw new UnreadableTopicError(
    `the topic ${topic} has compression.type=${type}: brokers compress with it whatever they are given, and no reader of the ` +
      `feed reads that. \`kafka-configs --alter --topic ${topic} --add-config compression.type=producer\` mends it; where ` +
      'messages were written meanwhile another topic is needed (`gateway relay fill NEW`)',
  );
}

/** A broker that does not know the question, or a cluster that names no controller to ask. */
const UNANSWERABLE = new Set(['KafkaJSServerDoesNotSupportApiKey', 'KafkaJSBrokerNotFound']);

const isUnanswered = (error: unknown): boolean =>
  faultTypes(error).some((type) => type.endsWith('_AUTHORIZATION_FAILED')) ||
  causes(error).some(({ name }) => UNANSWERABLE.has(name));

/** The fewest of any partition. */
export async function replicasOf(admin: Admin, topic: string): Promise<number | null> {
  const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
  const counts = (topics[0]?.partitions ?? []).map(({ replicas }) => replicas.length);
  return counts.length === 0 ? null : Math.min(...counts);
}
