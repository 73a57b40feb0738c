import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { onTestFinished } from 'vitest';
import type { EventLog } from '../../../../contracts/event-log.ts';
import {
  openSqliteEventLog,
  type SqliteEventLogOptions,
} from '../../../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { endedLater } from '../../../fixtures/ended-later.ts';
import { temporaryFolder } from '../../../fixtures/temporary-folder.ts';

/** A path in a folder of its own, which is removed with the test run's. */
export const newPath = (name = 'ledger.db'): string => join(temporaryFolder(), name);

/** A log that is closed after the test. */
export async function openLog(path: string, options: Omit<SqliteEventLogOptions, 'path'> = {}): Promise<EventLog> {
  return endedLater(await openSqliteEventLog({ path, ...options }));
}

/** Any other program's connection, closed after the test. */
export function openPlainly(path: string): DatabaseSync {
  const database = new DatabaseSync(path);
  onTestFinished(() => {
    if (database.isOpen) database.close();
  });
  return database;
}
