import { openEventStoreDbEventLog } from '../../../ledger/event-log/eventstoredb/eventstoredb-event-log.ts';

/** Every event of an event store as the adapter reads it, and nothing done with it. Prints how many there are. */
const log = await openEventStoreDbEventLog({ connectionString: process.argv[2] ?? '' });
let events = 0;
for await (const _ of log.readAll()) events++;
await log.close();
process.stdout.write(`${JSON.stringify({ events })}\n`);
