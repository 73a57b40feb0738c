import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteEventLog } from '../../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { describeEventLogContract } from './event-log-contract.ts';

describeEventLogContract('sqlite', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'event-log-'));
  return {
    open: () => openSqliteEventLog({ path: join(folder, 'ledger.db') }),
    remove: async () => rmSync(folder, { recursive: true }),
  };
});
