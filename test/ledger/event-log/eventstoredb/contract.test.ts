import { openEventStoreDbEventLog } from '../../../../ledger/event-log/eventstoredb/eventstoredb-event-log.ts';
import { startFakeEventStore } from '../../../eventstoredb/fake-event-store.ts';
import { describeEventLogContract } from '../event-log-contract.ts';
import { PATIENT } from './log-under-test.ts';

const VARIANTS = [
  { streamPrefix: '', batchAppend: true },
  { streamPrefix: 'gateway-', batchAppend: false },
];

for (const { streamPrefix, batchAppend } of VARIANTS)
  describeEventLogContract(`eventstoredb with the prefix "${streamPrefix}", batch append: ${batchAppend}`, async () => {
    const server = await startFakeEventStore({ batchAppend });
    // As on a real one, an append that comes again can meet its first try under way.
    server.faults.appendDelayMs = 1;
    const { connectionString } = server;
    return {
      open: () => openEventStoreDbEventLog({ connectionString, streamPrefix, deadlines: PATIENT }),
      remove: () => server.stop(),
    };
  });
