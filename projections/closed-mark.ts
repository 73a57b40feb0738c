import { statSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { hasTable } from './known-views.ts';

const MARK = 'closed_whole';

/**
 * Whether whoever wrote a views' file last has closed it, with all in the file itself. One that lies beside a `-wal` has not been: it is
 * of a process that was killed, or was put back beside what another file has left. @throws Error when the file is no database
 */
export function wasClosedWhole(path: string): boolean {
  const walBytes = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  return walBytes === 0 && hasTable(path, MARK);
}

/** With the last write. @throws Error of SQLite */
export function markClosed(database: DatabaseSync): void {
  database.exec(`CREATE TABLE IF NOT EXISTS ${MARK} (one INTEGER) STRICT`);
}

/** Before the first write, and in the file itself: a copy that is made from here on shows that it was made meanwhile. @throws as `markClosed` */
export function markOpen(database: DatabaseSync): void {
  database.exec(`DROP TABLE IF EXISTS ${MARK}`);
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
}
