import { closeSync } from 'node:fs';
import { openSqliteEventLog } from '../../../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { appendAnyhow, event } from '../../../fixtures/ledger/shared-log.ts';
import { takeDescriptors } from '../../../fixtures/processes/take-descriptors.ts';

/** What a log does when its process has no descriptor left. Run with few; prints what happened as JSON. */
const [path = ''] = process.argv.slice(2);
const stream = 'account-few' as Parameters<typeof appendAnyhow>[1];
const log = await openSqliteEventLog({ path });
const heard: string[] = [];
let stopped: string | null = null;
const three = Promise.withResolvers<void>();
const subscription = log.subscribeAll({
  after: null,
  onEvents: async (events) => {
    heard.push(...events.map(({ id }) => id));
    if (heard.length >= 3) three.resolve();
  },
  onStopped: (error) => {
    stopped = error.message;
    three.resolve();
  },
});
await appendAnyhow(log, stream, [event()]);

const taken = takeDescriptors();
await appendAnyhow(log, stream, [event()]);
await appendAnyhow(log, stream, [event()]);
await three.promise;
let read = 0;
for await (const _ of log.readStream(stream)) read++;
for await (const _ of log.readAll()) read++;
const head = await log.headPosition();
for (const fd of taken) closeSync(fd);
await subscription.close();
await log.close();
console.log(JSON.stringify({ heard: heard.length, stopped, read, head: head !== null }));
