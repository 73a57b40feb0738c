import { openSqliteEventLog } from '../../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { describeEventLogContract } from './event-log-contract.ts';
import { newPath } from './sqlite/log-file.ts';

for (const [name, readsHere] of [
  ['sqlite', false],
  ['sqlite, read in the thread that asks', true],
] as const)
  describeEventLogContract(name, async () => {
    const path = newPath();
    return { open: () => openSqliteEventLog({ path, readsHere }), remove: () => Promise.resolve() };
  });
