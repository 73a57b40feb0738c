import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, onTestFinished } from 'vitest';
import type { EventLog } from '../../../../contracts/event-log.ts';
import {
  openSqliteEventLog,
  type SqliteEventLogOptions,
} from '../../../../ledger/event-log/sqlite/sqlite-event-log.ts';

const folders: string[] = [];

afterAll(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

/** A path in a folder of its own, which is removed after the file's tests. */
export function newPath(name = 'ledger.db'): string {
  const folder = mkdtempSync(join(tmpdir(), 'event-log-'));
  folders.push(folder);
  return join(folder, name);
}

/** A log that is closed after the test. */
export async function openLog(path: string, options: Omit<SqliteEventLogOptions, 'path'> = {}): Promise<EventLog> {
  const log = await openSqliteEventLog({ path, ...options });
  onTestFinished(() => log.close());
  return log;
}

/** Any other program's connection, closed after the test. */
export function openPlainly(path: string): DatabaseSync {
  const database = new DatabaseSync(path);
  onTestFinished(() => {
    if (database.isOpen) database.close();
  });
  return database;
}
