import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { EventLogError } from '../../../contracts/event-log.ts';
import { MISSING } from '../../named-file.ts';
import { checkFile } from './check-file.ts';
import { describeDamage } from './database-fault.ts';
import { lookAt } from './file-identity.ts';
import { SQLITE_LIMITS } from './limits.ts';
import { asLogError, openForReads } from './open-database.ts';
import { APPLICATION_ID, SCHEMA_VERSION } from './schema.ts';
import { alteredObjects } from './schema-objects.ts';

/** A file of a ledger that is only read. */
export interface OfflineFile {
  readonly database: DatabaseSync;
  /** @throws EventLogError `unavailable` where somebody has written to it while it was read as one to which nobody does */
  close(): void;
}

/**
 * A connection that only reads, to a file that nobody need serve: evidence, perhaps, of somebody else, on a disk that takes
 * nothing. Nothing is left beside it. Positions begin at 1: whoever reads in their order would not see what stands before.
 *
 * @throws EventLogError `invalid` for what is no file of a ledger, or a damaged one; `unavailable` when it cannot be read
 */
export function openOffline(path: string): OfflineFile {
  try {
    return opened(path);
  } catch (error) {
    // What is in a -wal is read by an index of it, which has to be made.
    if (!(error instanceof EventLogError) || error.kind !== 'unavailable' || isEmpty(`${path}-wal`)) throw error;
    if (may(dirname(path), constants.W_OK)) throw error;
    throw new EventLogError(
      'unavailable',
      `${path}-wal has events of its own, which cannot be read where nothing can be written: copy both files into another folder`,
      { cause: error },
    );
  }
}

function opened(path: string): OfflineFile {
  const { busyMs } = SQLITE_LIMITS;
  asLogError(path, () => assertReadable(path));
  checkFile({ path, busyMs, isServedFrom: false });
  const before = isAtRest(path) ? stampOf(path) : null;
  const database = before === null ? openForReads(path, busyMs) : openAtRest(path);
  try {
    asLogError(path, () => assertLedger(database, path));
  } catch (error) {
    database.close();
    throw error;
  }
  return {
    database,
    close: () => {
      database.close();
      if (before !== null && stampOf(path) !== before)
        throw new EventLogError(
          'unavailable',
          `${path} was written to while it was read: read it again, or a copy of it`,
        );
    },
  };
}

/** SQLite has the same words for all of these, and those are of a full disk; a pipe it would wait for. */
function assertReadable(path: string): void {
  const found = statSync(path, { throwIfNoEntry: false });
  const amiss = (what: string): EventLogError => new EventLogError('unavailable', `${path}${what}`);
  if (found === undefined) throw amiss(`: ${MISSING}`);
  if (found.isDirectory()) throw amiss(' is a folder, and no file of a ledger');
  if (!found.isFile()) throw amiss(' is no regular file: copy what it gives into one');
  if (may(path, constants.R_OK)) return;
  const mode = (found.mode & 0o777).toString(8);
  throw amiss(
    ` (of uid ${found.uid}, mode 0${mode}) may not be read by uid ${process.geteuid?.()}, which runs this: it needs a copy that it may read`,
  );
}

/**
 * Whether nothing but the file itself has to be read, and there is nobody who could write to it: whoever has it open has a
 * -wal and a -shm there. What is left of one that has ended, beside a file that cannot be written, is nobody's.
 */
function isAtRest(path: string): boolean {
  if (!isEmpty(`${path}-wal`) || !isEmpty(`${path}-journal`)) return false;
  return ['-wal', '-shm'].some((end) => !existsSync(path + end) || !may(path + end, constants.R_OK | constants.W_OK));
}

/** Without locks, and without the -shm that any other connection makes. */
function openAtRest(path: string): DatabaseSync {
  const url = pathToFileURL(path);
  url.searchParams.set('immutable', '1');
  return asLogError(path, () => new DatabaseSync(url, { readOnly: true }));
}

function assertLedger(database: DatabaseSync, path: string): void {
  const numberOf = (pragma: string): unknown => database.prepare(`PRAGMA ${pragma}`).get()?.[pragma];
  if (numberOf('application_id') !== APPLICATION_ID) {
    // So is a young ledger's file, which is served.
    const isBare = numberOf('page_count') === 1 && isEmpty(`${path}-wal`);
    const orElse = isBare ? ', or a copy without its -wal, which has all that is in it' : '';
    throw new EventLogError('invalid', `${path} is no event log of this program${orElse}`);
  }
  const version = numberOf('user_version');
  if (version !== SCHEMA_VERSION)
    throw new EventLogError('invalid', `${path} has version ${version}; this program knows ${SCHEMA_VERSION}`);
  // A view of that name, or a table that is not strict, may have anything, and never end.
  const altered = alteredObjects(database).find(({ name }) => !name.startsWith('trigger '));
  if (altered !== undefined)
    throw new EventLogError(
      'invalid',
      `${path} is no event log of this program: its ${altered.name} is not as this program makes it`,
    );
  const first = database.prepare('SELECT min(position) AS first FROM event').get()?.first;
  if (typeof first === 'number' && first < 1)
    throw new EventLogError(
      'invalid',
      describeDamage(path, new Error(`an event stands at position ${first}, and the first is 1`)),
    );
}

/** What any write to it changes. */
function stampOf(path: string): string {
  const [file, wal] = [lookAt(path), lookAt(`${path}-wal`)];
  return [file?.ino, file?.size, file?.mtimeNs, wal?.size ?? 0n].join();
}

/** Also where nobody can look at it. */
const isEmpty = (path: string): boolean => !existsSync(path) || (lookAt(path)?.size ?? 0n) === 0n;

function may(path: string, mode: number): boolean {
  try {
    accessSync(path, mode);
    return true;
  } catch {
    return false;
  }
}
