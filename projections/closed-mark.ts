import type { DatabaseSync } from 'node:sqlite';

/** Only a file that was closed whole has this table. Who writes views needs nothing else to be loaded: what its thread loads late may find no descriptor. */
export const MARK = 'closed_whole';

/** Whoever reads the file at an end is waited for so long: its snapshot alone keeps what is written out of the file itself. */
const READERS_MS = 1_000;

/** With the last write. @throws Error of SQLite */
export function markClosed(database: DatabaseSync): void {
  database.exec(`CREATE TABLE IF NOT EXISTS ${MARK} (one INTEGER) STRICT`);
}

/**
 * The same behind it, with all in the file itself, also where others have the file open. Where one of them reads on in it, it is not, and the next
 * start takes it for one that was not closed whole. @throws as `markClosed`
 */
export function closeWhole(database: DatabaseSync): void {
  markClosed(database);
  database.exec(`PRAGMA busy_timeout = ${READERS_MS}`);
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
}

/** Before the first write, and in the file itself, where nobody reads it just now: else `settle` brings it there later. @throws as `markClosed` */
export function markOpen(database: DatabaseSync): void {
  database.exec(`DROP TABLE IF EXISTS ${MARK}`);
  settle(database);
}

/**
 * Brings what was written into the file itself, as far as that goes without waiting for anybody; whether it is there. Once that the file is open is, a copy of
 * it alone shows it. While somebody reads on in what was there before, it is not, nor is anything that is written since. @throws as `markClosed`
 */
export function settle(database: DatabaseSync): boolean {
  const { busy, log, checkpointed } = database.prepare('PRAGMA wal_checkpoint(PASSIVE)').get() ?? {};
  return busy === 0 && log === checkpointed;
}
