import { createServer } from 'node:net';
import { GenericContainer, Wait } from 'testcontainers';
import type { Broker } from './start-broker.ts';

const IMAGE = 'apache/kafka:4.1.0';
const PORT = 9092;

type CreateTopic = (brokers: string[], topic: string, how: 'create') => Promise<void>;

/** One real broker in KRaft mode. It tells clients its address, so the port outside is chosen before it starts. */
export async function startContainer(createTopic: CreateTopic): Promise<Broker> {
  const port = await freePort();
  const container = await new GenericContainer(IMAGE)
    .withExposedPorts({ container: PORT, host: port })
    .withEnvironment({
      KAFKA_NODE_ID: '1',
      KAFKA_PROCESS_ROLES: 'broker,controller',
      KAFKA_LISTENERS: `PLAINTEXT://:${PORT},CONTROLLER://:9093`,
      KAFKA_ADVERTISED_LISTENERS: `PLAINTEXT://127.0.0.1:${port}`,
      KAFKA_CONTROLLER_LISTENER_NAMES: 'CONTROLLER',
      KAFKA_LISTENER_SECURITY_PROTOCOL_MAP: 'CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT',
      KAFKA_CONTROLLER_QUORUM_VOTERS: '1@localhost:9093',
      KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR: '1',
      KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS: '0',
      KAFKA_AUTO_CREATE_TOPICS_ENABLE: 'false',
    })
    .withWaitStrategy(Wait.forLogMessage(/Kafka Server started/))
    .start();
  const brokers = [`127.0.0.1:${port}`];
  return {
    brokers,
    kind: 'container',
    pid: null,
    createTopic: (topic) => createTopic(brokers, topic, 'create'),
    stop: async () => {
      await container.stop();
    },
  };
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}
