import { GenericContainer, Wait } from 'testcontainers';
import { composeImage } from '../compose/compose-image.ts';
import { freePorts } from './free-ports.ts';
import type { StartedBrokers } from './started-brokers.ts';

const PORT = 9092;

/** One real broker in KRaft mode, of the image of compose.yaml. It tells clients its address, so the port outside is chosen before it starts. */
export async function startContainer(): Promise<StartedBrokers> {
  const [port = 0] = await freePorts(1);
  const container = await new GenericContainer(composeImage('kafka'))
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
  return {
    brokers: [`127.0.0.1:${port}`],
    stop: async () => {
      await container.stop();
    },
  };
}
