import { randomBytes } from 'node:crypto';
import { copyEvents } from '../../../ledger/copy/copy-events.ts';
import { openEventStoreDbEventLog } from '../../../ledger/event-log/eventstoredb/eventstoredb-event-log.ts';
import { openSqliteEventLog } from '../../../ledger/event-log/sqlite/sqlite-event-log.ts';

/**
 * A ledger's file into an event store, under a prefix of its own: one append behind the answer of the other, as `gateway ledger
 * copy` does, or many of the same at once, which is what the store takes. Prints how many events, and seconds without the start.
 */
const [path = '', connectionString = '', atOnce = ''] = process.argv.slice(2);
const source = await openSqliteEventLog({ path });
const streamPrefix = `bench${randomBytes(6).toString('hex')}-`;
const target = await openEventStoreDbEventLog({ connectionString, streamPrefix, waitForServer: true });
const startMs = performance.now();
let events = 0;
await copyEvents(source, target, {
  after: null,
  atOnce: Number(atOnce),
  onCopied: (copied) => {
    events += copied;
  },
});
const seconds = (performance.now() - startMs) / 1_000;
await target.close();
await source.close();
process.stdout.write(`${JSON.stringify({ events, seconds })}\n`);
