import { GenericContainer, Wait } from 'testcontainers';
import { composeImage } from '../compose/compose-image.ts';

export interface StartedEventStore {
  readonly connectionString: string;
  stop(): Promise<void>;
}

const PORT = 2113;
const START_MS = 120_000;

/** One real event store, of the image of compose.yaml, without TLS. */
export async function startEventStoreContainer(): Promise<StartedEventStore> {
  const container = await new GenericContainer(composeImage('eventstoredb'))
    .withEnvironment({ KURRENTDB_INSECURE: 'true', KURRENTDB_TELEMETRY_OPTOUT: 'true' })
    .withExposedPorts(PORT)
    .withWaitStrategy(Wait.forHttp('/health/live', PORT).forStatusCode(204))
    .withStartupTimeout(START_MS)
    .start();
  return {
    connectionString: `esdb://${container.getHost()}:${container.getMappedPort(PORT)}?tls=false`,
    stop: async () => {
      await container.stop();
    },
  };
}
