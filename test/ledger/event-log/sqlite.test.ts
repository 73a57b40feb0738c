import { openSqliteEventLog } from '../../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { describeEventLogContract } from './event-log-contract.ts';
import { newPath } from './sqlite/log-file.ts';

describeEventLogContract('sqlite', async () => {
  const path = newPath();
  return { open: () => openSqliteEventLog({ path }), remove: () => Promise.resolve() };
});
