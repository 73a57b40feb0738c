import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { kafkaClient } from '../../ledger/feed/kafka-client.ts';
import { startContainer } from './kafka-container.ts';

/** Partitions of the topics that `createTopic` makes: the mock broker knows no other number. */
export const TOPIC_PARTITIONS = 4;

export interface Broker {
  readonly brokers: string[];
  readonly kind: 'given' | 'mock' | 'container';
  /** Of the mock broker, which SIGSTOP takes away and SIGCONT brings back; it forgets everything when it ends. */
  readonly pid: number | null;
  /** With TOPIC_PARTITIONS partitions. */
  createTopic(topic: string): Promise<void>;
  stop(): Promise<void>;
}

const START_MS = 60_000;

/**
 * The brokers that `KAFKA_BROKERS` names (host:port, comma-separated; `docker` starts a container); else librdkafka's mock
 * broker, which Debian's kcat has built in; else null, and one line that says so.
 */
export async function startBroker(environment: NodeJS.ProcessEnv = process.env): Promise<Broker | null> {
  const given = environment.KAFKA_BROKERS ?? '';
  if (given === 'docker') return await startContainer(createTopicOn);
  if (given !== '') return givenBrokers(given.split(',').map((broker) => broker.trim()));
  const mock = await startMock();
  if (mock === null)
    process.stderr.write('tests against Kafka are skipped: kcat is not installed and KAFKA_BROKERS is not set\n');
  return mock;
}

const givenBrokers = (brokers: string[]): Broker => ({
  brokers,
  kind: 'given',
  pid: null,
  createTopic: (topic) => createTopicOn(brokers, topic, 'create'),
  stop: async () => undefined,
});

async function startMock(): Promise<Broker | null> {
  const child = spawn(
    'kcat',
    ['-P', '-b', 'mock', '-t', 'unused', '-X', 'test.mock.num.brokers=1', '-X', 'debug=mock'],
    {
      stdio: ['pipe', 'ignore', 'pipe'],
    },
  );
  const exited = once(child, 'exit').catch(() => undefined);
  const server = await addressOf(child);
  if (server === null) return null;
  const brokers = [server];
  return {
    brokers,
    kind: 'mock',
    pid: child.pid ?? null,
    createTopic: (topic) => createTopicOn(brokers, topic, 'ask'),
    stop: async () => {
      child.kill('SIGKILL');
      await exited;
    },
  };
}

/** What the mock says of itself when it starts; null where there is no kcat. */
function addressOf(child: ChildProcess): Promise<string | null> {
  return new Promise((resolve, reject) => {
    const { stderr } = child;
    if (stderr === null) throw new TypeError('no standard error');
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      reject(new Error(`kcat did not start a mock broker within ${START_MS} ms`));
    }, START_MS);
    child.once('error', (error: NodeJS.ErrnoException) => {
      clearTimeout(timer);
      if (error.code === 'ENOENT') resolve(null);
      else reject(error);
    });
    // It is read to the end, for a full pipe would stop the broker.
    createInterface({ input: stderr }).on('line', (line) => {
      const address = /bootstrap\.servers=([\d.]+:\d+)/.exec(line)?.[1];
      if (address === undefined) return;
      clearTimeout(timer);
      resolve(address);
    });
  });
}

/** The mock knows no request to create a topic: it makes one that is asked for. */
async function createTopicOn(brokers: string[], topic: string, how: 'ask' | 'create'): Promise<void> {
  const admin = kafkaClient({ kafka: { brokers, topic, ssl: false, sasl: null }, clientId: 'test' }).admin();
  await admin.connect();
  try {
    if (how === 'ask') await admin.fetchTopicMetadata({ topics: [topic] });
    else await admin.createTopics({ waitForLeaders: true, topics: [{ topic, numPartitions: TOPIC_PARTITIONS }] });
  } finally {
    await admin.disconnect();
  }
}
