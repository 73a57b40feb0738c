import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { EventLogError } from '../../../contracts/event-log.ts';
import { messageOf } from '../../../contracts/message-of.ts';
import { makeForFolderOwner } from '../../folder-owner.ts';
import { folderOf, makeRoom, type PathUse, wantOfDisk } from '../../want-of-disk.ts';
import { wantOfRights } from '../../want-of-rights.ts';
import { describeDamage, isBusy, isDamage, isFull, mayPass } from './database-fault.ts';
import { SQLITE_LIMITS } from './limits.ts';
import { retryWhileBusy } from './retry-while-busy.ts';
import { APPLICATION_ID, SCHEMA, SCHEMA_VERSION } from './schema.ts';
import { alteredObjects } from './schema-objects.ts';

/** Earlier ones can corrupt a WAL that one connection writes while another checkpoints it (the "WAL-reset bug"). */
const SQLITE_VERSION_MIN = [3, 51, 3] as const;
const FULL = 2;
export const IN_MEMORY = ':memory:';

/**
 * The connection that appends; makes the file where it is missing. WAL with a sync at each commit, so that what was
 * answered survives a loss of power. It does not wait for another process's transaction: the caller does.
 *
 * @throws EventLogError `invalid` for a damaged file, one of another program or version, or a SQLite that is too old;
 *   `unavailable` when the file cannot be opened
 */
export function openForAppends(path: string, busyMs: number): DatabaseSync {
  checkSqliteVersion(process.versions.sqlite ?? '0');
  // What SQLite keeps in memory is refused below, as whatever has no write-ahead log.
  if (path !== IN_MEMORY) makeForFolderOwner(path);
  return asLogError(path, () =>
    retryWhileBusy(() => {
      const database = new DatabaseSync(path, { timeout: 0 });
      try {
        prepareFile(database, path);
        return database;
      } catch (fault) {
        database.close();
        throw fault;
      }
    }, busyMs),
  );
}

/** A connection that only reads a file that `openForAppends` has prepared. @throws EventLogError as that one */
export function openForReads(path: string, busyMs: number): DatabaseSync {
  return asLogError(path, () => new DatabaseSync(path, { timeout: busyMs, readOnly: true }));
}

/**
 * The last to close a file moves its -wal into it, which would make a mixture of what was copied into the file meanwhile.
 * Beside a connection that has read from the file it is not the last; and one that only reads moves nothing.
 */
export function closeWithoutCheckpoint(database: DatabaseSync, path: string, busyMs: number): void {
  const beside = openForReads(path, busyMs);
  try {
    beside.prepare('SELECT count(*) FROM sqlite_schema').get();
  } catch {
    // What is there cannot even be read: nor can what would be moved into it.
  }
  database.close();
  beside.close();
}

/** Rows come as arrays, in the order of the columns. */
export function prepareArrays(database: DatabaseSync, sql: string): StatementSync {
  const statement = database.prepare(sql);
  statement.setReturnArrays(true);
  return statement;
}

/** @throws EventLogError `invalid` */
export function checkSqliteVersion(version: string): void {
  const parts = version.split('.').map(Number);
  for (const [index, least] of SQLITE_VERSION_MIN.entries()) {
    const part = parts[index] ?? 0;
    if (part > least) return;
    if (part < least)
      throw new EventLogError(
        'invalid',
        `SQLite ${version} can corrupt a log; ${SQLITE_VERSION_MIN.join('.')} or later is needed (Node 24.15 has it)`,
      );
  }
}

function prepareFile(database: DatabaseSync, path: string): void {
  // Before anything is changed: the file may belong to another program.
  const isNew = inSnapshot(database, () => checkOwner(database, path));
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON');
  if (wordOf(database, 'journal_mode') !== 'wal' || numberOf(database, 'synchronous') !== FULL)
    throw new EventLogError('invalid', `${path}: there is no write-ahead log here`);
  if (isNew) createSchema(database, path);
  database.exec(`PRAGMA wal_autocheckpoint = ${SQLITE_LIMITS.checkpointPages};
    PRAGMA journal_size_limit = ${SQLITE_LIMITS.walBytesKept}`);
}

/** Whether there is nothing in the file yet. */
function checkOwner(database: DatabaseSync, path: string): boolean {
  const application = numberOf(database, 'application_id');
  const version = numberOf(database, 'user_version');
  const tables = Number(database.prepare('SELECT count(*) AS n FROM sqlite_schema').get()?.n);
  if (application === 0 && version === 0 && tables === 0) return true;
  if (application !== APPLICATION_ID) throw new EventLogError('invalid', `${path} is no event log of this program`);
  if (version !== SCHEMA_VERSION)
    throw new EventLogError('invalid', `${path} has version ${version}; this program knows ${SCHEMA_VERSION}`);
  // What is missing refuses no write that it should not; what is there and is somebody else's may alter what is written.
  const altered = alteredObjects(database).find(({ isMissing }) => !isMissing);
  if (altered !== undefined)
    throw new EventLogError(
      'invalid',
      `${path} has a ${altered.name} that is not of this program: what is appended could be changed by it. Put back a copy of ` +
        'the ledger, or look at what it does, take it out, and see what `gateway ledger verify --offline` says',
    );
  return false;
}

/** All that is read sees the file at one instant: another process may be making it just now. */
function inSnapshot<T>(database: DatabaseSync, read: () => T): T {
  database.exec('BEGIN');
  try {
    return read();
  } finally {
    // A fault may have ended it, and is what is told.
    if (database.isTransaction) database.exec('ROLLBACK');
  }
}

function createSchema(database: DatabaseSync, path: string): void {
  database.exec('BEGIN IMMEDIATE');
  // Another process may have been first while this one waited for the transaction.
  if (checkOwner(database, path)) database.exec(SCHEMA);
  database.exec('COMMIT');
}

/** Carries out what may fail as a file does. @throws EventLogError, always */
export function asLogError<T>(path: string, action: () => T, use: PathUse = 'data'): T {
  try {
    return action();
  } catch (cause) {
    if (cause instanceof EventLogError) throw cause;
    if (isDamage(cause)) throw new EventLogError('invalid', describeDamage(path, cause), { cause });
    const message = wantOfRights(path) ?? `${path}: ${messageOf(cause)}${wayOut(path, cause, use)}`;
    throw new EventLogError('unavailable', message, { cause });
  }
}

/** What an operator can do about what may pass; nothing where it passes by itself. */
export function wayOut(path: string, fault: unknown, use: PathUse = 'data'): string {
  if (path === IN_MEMORY || !mayPass(fault) || isBusy(fault)) return '';
  const want = wantOfDisk(path, use) ?? (isFull(fault) ? makeRoom(folderOf(path)) : null);
  return want === null ? ' (is there no file descriptor left? `ulimit -n` says how many there may be)' : `: ${want}`;
}

const wordOf = (database: DatabaseSync, pragma: string): unknown =>
  database.prepare(`PRAGMA ${pragma}`).get()?.[pragma];

const numberOf = (database: DatabaseSync, pragma: string): number => Number(wordOf(database, pragma));
