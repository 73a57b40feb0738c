import { openEventStoreDbEventLog } from '../../../../ledger/event-log/eventstoredb/eventstoredb-event-log.ts';
import { startFakeEventStore } from '../../../eventstoredb/fake-event-store.ts';
import { describeEventLogContract } from '../event-log-contract.ts';
import { PATIENT } from './log-under-test.ts';

for (const streamPrefix of ['', 'gateway-'])
  describeEventLogContract(`eventstoredb over the fake server, with the prefix "${streamPrefix}"`, async () => {
    const server = await startFakeEventStore();
    // As on a real one, an append that comes again can meet its first try under way.
    server.faults.appendDelayMs = 1;
    const { connectionString } = server;
    return {
      open: () => openEventStoreDbEventLog({ connectionString, streamPrefix, deadlines: PATIENT }),
      remove: () => server.stop(),
    };
  });
