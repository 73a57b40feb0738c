import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { isBusy } from '../../ledger/event-log/sqlite/database-fault.ts';
import { UnreadableFileError } from '../../ledger/unreadable-file.ts';
import { wantOfRights } from '../../ledger/want-of-rights.ts';
import { VIEWS_FILE } from '../known-views.ts';
import { renameViews } from '../remove-views.ts';

/** A views' file that a folder has left behind when it went over to a generation. */
export interface ViewsSetAside {
  readonly file: string;
  readonly generation: number;
}

const SET_ASIDE = /^views\.db\.before-generation-(\d+)(?:\.(\d+))?$/;

/** All of a folder's, in the order in which they were set aside. */
export function viewsSetAside(dataFolder: string): ViewsSetAside[] {
  const files = readdirSync(dataFolder).flatMap((name) => {
    const [, generation, count = '1'] = SET_ASIDE.exec(name) ?? [];
    const file = join(dataFolder, name);
    return generation === undefined ? [] : [{ file, generation: Number(generation), count: Number(count) }];
  });
  const inOrder = files.sort((one, other) => one.generation - other.generation || one.count - other.count);
  return inOrder.map(({ file, generation }) => ({ file, generation }));
}

const asideName = (path: string, generation: number): string => `${path}.before-generation-${generation}`;

/** The views of before a generation, also where they are set aside already; null where there are none. */
export function viewsBefore(dataFolder: string, generation: number): string | null {
  const path = join(dataFolder, VIEWS_FILE);
  return [path, asideName(path, generation)].find((file) => existsSync(file)) ?? null;
}

/** Under a name of their own, which it returns, so that somebody can look what was in them; null where there are none. */
export function setViewsAside(dataFolder: string, generation: number): string | null {
  const path = join(dataFolder, VIEWS_FILE);
  if (!existsSync(path)) return null;
  makeOneFile(path);
  for (let count = 1; ; count++) {
    const aside = asideName(path, generation) + (count === 1 ? '' : `.${count}`);
    if (existsSync(aside)) continue;
    renameViews(path, aside);
    return aside;
  }
}

/** Whoever reads it is waited for so long. */
const READERS_MS = 1_000;

/** Whoever only reads it then makes nothing beside it. Where somebody has it open it stays as it is, for what stands beside it goes with it. @throws Error of SQLite */
function makeOneFile(path: string): void {
  const database = new DatabaseSync(path, { timeout: READERS_MS });
  try {
    database.exec('PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE');
  } catch (error) {
    if (!isBusy(error)) throw error;
  } finally {
    database.close();
  }
}

/** @throws UnreadableFileError */
export function readFileSetAside<T>(file: string, mayKnow: string, read: (file: string) => T): T {
  try {
    return read(file);
  } catch (cause) {
    const lacking = wantOfRights(file);
    if (lacking !== null) throw new UnreadableFileError(lacking, { cause });
    throw new UnreadableFileError(`${file} cannot be read, and may know ${mayKnow}; put it back, or move it away`, {
      cause,
    });
  }
}
