import { describe, it } from 'vitest';
import { openEventStoreDbEventLog } from '../../../../ledger/event-log/eventstoredb/eventstoredb-event-log.ts';
import { composeImage } from '../../../compose/compose-image.ts';
import { isDockerThere } from '../../../compose/docker-engine.ts';
import { startEventStoreContainer } from '../../../eventstoredb/event-store-container.ts';
import { givenEventStore } from '../../../eventstoredb/given-event-store.ts';
import { describeEventLogContract } from '../event-log-contract.ts';

const given = givenEventStore();
if (given !== null) describeReal('the server of EVENTSTOREDB_URL', given.connectionString, async () => undefined);
else if (await isDockerThere()) {
  const { connectionString, stop } = await startEventStoreContainer();
  describeReal(composeImage('eventstoredb'), connectionString, stop);
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
