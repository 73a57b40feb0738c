import { GenericContainer, Wait } from 'testcontainers';
import { describe, it } from 'vitest';
import { openEventStoreDbEventLog } from '../../../../ledger/event-log/eventstoredb/eventstoredb-event-log.ts';
import { describeEventLogContract } from '../event-log-contract.ts';
import { isDockerThere } from './docker-engine.ts';

const IMAGE = 'kurrentplatform/kurrentdb:26.1.1';
const PORT = 2113;
const START_MS = 120_000;

const given = process.env.EVENTSTOREDB_URL;
if (given !== undefined) describeReal('the server of EVENTSTOREDB_URL', given, async () => undefined);
else if (await isDockerThere()) {
  const container = await new GenericContainer(IMAGE)
    .withEnvironment({ KURRENTDB_INSECURE: 'true', KURRENTDB_TELEMETRY_OPTOUT: 'true' })
    .withExposedPorts(PORT)
    .withWaitStrategy(Wait.forHttp('/health/live', PORT).forStatusCode(204))
    .withStartupTimeout(START_MS)
    .start();
  const connectionString = `esdb://${container.getHost()}:${container.getMappedPort(PORT)}?tls=false`;
  describeReal(IMAGE, connectionString, async () => void (await container.stop()));
} else
  describe('eventstoredb over a real server', () => {
    it.skip('is not tried: EVENTSTOREDB_URL is not set, and no Docker engine answers', () => undefined);
  });

function describeReal(name: string, connectionString: string, remove: () => Promise<void>): void {
  describeEventLogContract(`eventstoredb over ${name}`, async () => ({
    open: () => openEventStoreDbEventLog({ connectionString, waitForServer: true }),
    remove,
  }));
}
