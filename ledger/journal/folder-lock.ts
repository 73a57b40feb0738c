import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { makeForFolderOwner } from '../folder-owner.ts';
import { JournalError } from './journal-error.ts';

export const LOCK_FILE = 'lock.db';

const SQLITE_BUSY = 5;
/** Who only looks whether a folder is taken has its lock for a moment. */
const LOOKED_AT_MS = 100;

export interface FolderLock {
  release(): void;
}

/**
 * Takes a folder for this process alone. Node offers no file locks, but SQLite takes them: an exclusive transaction on
 * an empty database, open for the life of the journal and never committed, holds the operating system's lock on that
 * file. The kernel drops it when the process ends, however it ends, so no stale lock survives a `kill -9`. A second
 * opener does not wait for its end. As with any SQLite file the folder must not lie on a network file system with broken locks.
 *
 * @throws JournalError `in_use`, naming the folder.
 */
export function lockFolder(directory: string): FolderLock {
  makeForFolderOwner(join(directory, LOCK_FILE));
  const database = new DatabaseSync(join(directory, LOCK_FILE), { timeout: LOOKED_AT_MS });
  try {
    // Without a rollback file, for which a full disk has no room: nothing is ever written.
    database.exec('PRAGMA journal_mode = MEMORY');
    database.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    if (!isBusy(error)) throw error;
    throw new JournalError('in_use', `another gateway is using the data folder ${directory}`, { cause: error });
  }
  return { release: () => database.close() };
}

/** Whether a process has the folder. Changes nothing in it. */
export function isFolderLocked(directory: string): boolean {
  const file = join(directory, LOCK_FILE);
  if (!existsSync(file)) return false;
  const database = new DatabaseSync(file, { readOnly: true, timeout: 0 });
  try {
    database.prepare('SELECT count(*) FROM sqlite_schema').get();
    return false;
  } catch (error) {
    if (!isBusy(error)) throw error;
    return true;
  } finally {
    database.close();
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY;
}
