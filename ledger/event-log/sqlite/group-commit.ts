import type { DatabaseSync } from 'node:sqlite';
import { messageOf } from '../../../contracts/message-of.ts';
import { AppendTable } from './append-table.ts';
import { wroteNothing } from './database-fault.ts';
import type { AppendedGroup, AppendGroup } from './messages.ts';
import { IN_MEMORY, prepareArrays, wayOut } from './open-database.ts';
import { retryWhileBusy } from './retry-while-busy.ts';

/** One durable transaction. Failures are answers, but for a ROLLBACK's: nothing is known then, the thread ends. */
export function groupCommit(database: DatabaseSync, busyMs: number): (group: AppendGroup) => AppendedGroup {
  const table = new AppendTable(database);
  const begin = prepareArrays(database, 'BEGIN IMMEDIATE');
  const commit = prepareArrays(database, 'COMMIT');
  return (group) => {
    let isCommitting = false;
    try {
      retryWhileBusy(() => begin.run(), busyMs);
      const outcomes = table.apply(group, Date.now());
      isCommitting = true;
      commit.run();
      return { type: 'committed', outcomes };
    } catch (fault) {
      table.forget();
      if (database.isTransaction) database.exec('ROLLBACK');
      const kind = isCommitting && !wroteNothing(fault) ? 'ambiguous' : 'unavailable';
      return { type: 'failed', kind, message: `${messageOf(fault)}${wayOut(database.location() ?? IN_MEMORY, fault)}` };
    }
  };
}
