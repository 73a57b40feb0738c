import type { Admin } from 'kafkajs';
import { kafkaClient } from '../../ledger/feed/kafka-client.ts';
import { TOPIC_RESOURCE } from '../../ledger/feed/topic-settings.ts';
import { ensureTopic } from '../../ledger/relay/topic.ts';
import { eventually } from './eventually.ts';
import { startContainer } from './kafka-container.ts';
import { startMockBroker } from './mock-broker.ts';
import { type RealBrokers, startRealBrokers } from './real-brokers.ts';
import { sharedBroker } from './shared-broker.ts';
import type { StartedBrokers } from './started-brokers.ts';

/** Partitions of the topics that `createTopic` makes: the mock broker knows no other number. */
export const TOPIC_PARTITIONS = 4;

export interface Broker extends StartedBrokers {
  readonly brokers: string[];
  readonly kind: 'given' | 'container' | 'real' | 'mock';
  /** Where they are this caller's alone, who may kill and pause them; else null. */
  readonly cluster: RealBrokers | null;
  /** With TOPIC_PARTITIONS partitions. */
  createTopic(topic: string): Promise<void>;
  /** Not on the mock, which knows no configuration. */
  setTopic(topic: string, settings: Readonly<Record<string, string>>): Promise<void>;
  /** Not on the mock. */
  addPartitions(topic: string, count: number): Promise<void>;
  /** Deletes what stands before an offset, of each partition that has as much. Not on the mock. */
  deleteBefore(topic: string, offset: number): Promise<void>;
  /** Makes a topic of this name that has nothing: here, or on another broker where this one deletes no topics. */
  makeAnew(topic: string): Promise<Broker>;
}

/**
 * The brokers that `KAFKA_BROKERS` names (host:port, comma-separated; `docker` starts a container); else Apache Kafka where
 * it was fetched, one broker for all files of a test run; else librdkafka's mock broker, which Debian's kcat has built in;
 * else null, and one line that says so. Others may use the same broker: nobody takes it away, and topics have names of
 * their own (new-topic-name.ts).
 */
export async function startBroker(environment: NodeJS.ProcessEnv = process.env): Promise<Broker | null> {
  const given = environment.KAFKA_BROKERS ?? '';
  if (given === 'docker') return brokerOf('container', await startContainer());
  if (given !== '') return brokerOf('given', notOurs(given.split(',').map((broker) => broker.trim())));
  const shared = await sharedBroker(environment);
  if (shared !== null) return brokerOf('real', notOurs(shared));
  const own = await startRealBrokers(1);
  if (own !== null) return brokerOf('real', own);
  const mock = await startMockBroker();
  if (mock !== null) return mockOf(mock);
  process.stderr.write('tests against Kafka are skipped: no KAFKA_BROKERS, no npm run kafka, no kcat\n');
  return null;
}

/**
 * The same for a run that takes brokers away: where Apache Kafka was fetched, so many of its own. What `KAFKA_BROKERS`
 * names, and the mock, it leaves alone.
 */
export async function startBrokersToTake(
  count: number,
  environment: NodeJS.ProcessEnv = process.env,
): Promise<Broker | null> {
  const own = (environment.KAFKA_BROKERS ?? '') === '' ? await startRealBrokers(count) : null;
  return own === null ? startBroker(environment) : brokerOf('real', own, own);
}

const notOurs = (brokers: readonly string[]): StartedBrokers => ({ brokers, stop: async () => undefined });

function brokerOf(kind: Broker['kind'], started: StartedBrokers, cluster: RealBrokers | null = null): Broker {
  const { brokers } = started;
  const createTopic = (topic: string): Promise<void> => createTopicOn(brokers, topic);
  const broker: Broker = {
    brokers: [...brokers],
    kind,
    cluster,
    createTopic,
    setTopic: (topic, settings) =>
      withAdmin(brokers, async (admin) => {
        const configEntries = Object.entries(settings).map(([name, value]) => ({ name, value }));
        const resources = [{ type: TOPIC_RESOURCE, name: topic, configEntries }];
        await admin.alterConfigs({ validateOnly: false, resources });
      }),
    addPartitions: (topic, count) =>
      withAdmin(brokers, async (admin) => {
        await admin.createPartitions({ topicPartitions: [{ topic, count }] });
        const counted = async () => (await admin.fetchTopicMetadata({ topics: [topic] })).topics[0]?.partitions.length;
        await eventually(`${topic} has ${count} partitions`, async () => (await counted()) === count);
      }),
    deleteBefore: (topic, offset) =>
      withAdmin(brokers, async (admin) => {
        const held = await admin.fetchTopicOffsets(topic);
        const partitions = held
          .filter(({ high }) => Number(high) >= offset)
          .map(({ partition }) => ({ partition, offset: String(offset) }));
        await admin.deleteTopicRecords({ topic, partitions });
      }),
    makeAnew: async (topic) => {
      await withAdmin(brokers, async (admin) => {
        await admin.deleteTopics({ topics: [topic] });
        await eventually(`${topic} is gone`, async () => !(await admin.listTopics()).includes(topic));
      });
      await createTopic(topic);
      return { ...broker, stop: async () => undefined };
    },
    stop: () => started.stop(),
  };
  return broker;
}

/** As the relay makes it, with TOPIC_PARTITIONS partitions. */
export async function createTopicOn(brokers: readonly string[], topic: string): Promise<void> {
  const kafka = { brokers: [...brokers], topic, ssl: false, sasl: null };
  const topicOf = { topic, partitions: TOPIC_PARTITIONS, replicationFactor: -1, doubtfulTopic: 'warn' as const };
  await ensureTopic(kafkaClient({ kafka, clientId: 'test' }), topicOf, new AbortController().signal);
}

/** The mock knows no requests to create a topic or to delete one: it makes one that is asked for. */
function mockOf({ brokers, stop }: StartedBrokers): Broker {
  return {
    brokers: [...brokers],
    kind: 'mock',
    cluster: null,
    createTopic: (topic) =>
      withAdmin(brokers, async (admin) => {
        await admin.fetchTopicMetadata({ topics: [topic] });
      }),
    setTopic: () => Promise.reject(new Error('the mock broker knows no configuration of topics')),
    addPartitions: () => Promise.reject(new Error('the mock broker adds nothing')),
    deleteBefore: () => Promise.reject(new Error('the mock broker deletes nothing')),
    makeAnew: async (topic) => {
      const other = await startMockBroker();
      if (other === null) throw new Error('kcat is gone');
      const broker = mockOf(other);
      await broker.createTopic(topic);
      return broker;
    },
    stop,
  };
}

async function withAdmin(brokers: readonly string[], use: (admin: Admin) => Promise<void>): Promise<void> {
  const kafka = { brokers: [...brokers], topic: '', ssl: false, sasl: null };
  const admin = kafkaClient({ kafka, clientId: 'test' }).admin();
  await admin.connect();
  try {
    await use(admin);
  } finally {
    await admin.disconnect();
  }
}
