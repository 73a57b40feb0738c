import { backup, DatabaseSync } from 'node:sqlite';
import { EventLogError } from '../../../contracts/event-log.ts';
import { isBusy, mayPass } from './database-fault.ts';
import { SQLITE_LIMITS } from './limits.ts';
import { asLogError, openForReads } from './open-database.ts';
import { OpenedFile } from './opened-file.ts';

/** 4 MiB at a time, between which it is told how far it is. */
const PAGES_A_STEP = 1_024;

/**
 * Copies an SQLite file as it is at one instant, while others write to it: SQLite's online backup, from a snapshot, so that
 * no write begins it anew. The copy is one file, with nothing beside it, and on disk.
 *
 * @param onPages how many more are copied, of how many
 * @throws EventLogError `unavailable` where a file cannot be read or written, or was replaced meanwhile; `invalid` for a damaged one
 */
export async function backUpFile(
  path: string,
  to: string,
  onPages: (pages: number, of: number) => void = () => undefined,
): Promise<void> {
  const { database, file } = OpenedFile.open(path, () => openForReads(path, SQLITE_LIMITS.busyMs));
  try {
    await copySnapshot(database, path, { to, onPages });
    const trouble = file.trouble();
    if (trouble !== null) throw new EventLogError('unavailable', trouble.message);
  } finally {
    database.close();
  }
  asLogError(to, () => withoutWriteAheadLog(to), 'named');
}

async function copySnapshot(
  database: DatabaseSync,
  path: string,
  { to, onPages }: { readonly to: string; readonly onPages: (pages: number, of: number) => void },
): Promise<void> {
  let copied = 0;
  const progress = ({ totalPages, remainingPages }: { totalPages: number; remainingPages: number }): void => {
    onPages(totalPages - remainingPages - copied, totalPages);
    copied = totalPages - remainingPages;
  };
  try {
    // What holds the snapshot from here on.
    database.exec('BEGIN');
    database.prepare('SELECT count(*) FROM sqlite_schema').get();
    await backup(database, to, { rate: PAGES_A_STEP, progress });
  } catch (fault) {
    // What stops halfway, and is no damage of what is read, is what is written: its disk is full, or its folder gone.
    const isOfCopy = mayPass(fault) && !isBusy(fault);
    const tell = (): never => {
      throw fault;
    };
    asLogError(isOfCopy ? to : path, tell, isOfCopy ? 'named' : 'data');
  }
}

/** Else whoever only reads it would make files beside it. Who serves from it changes that back. */
function withoutWriteAheadLog(path: string): void {
  const database = new DatabaseSync(path);
  try {
    database.exec('PRAGMA journal_mode = DELETE');
  } finally {
    database.close();
  }
}
