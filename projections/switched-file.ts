import { existsSync, linkSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { giveToFolderOwner } from '../ledger/folder-owner.ts';
import { pause } from '../ledger/pause.ts';
import { syncFolder } from '../ledger/sync-folder.ts';
import { readUndamaged } from './damaged-views.ts';
import { readFoldedThrough, readUpcastFrom } from './known-views.ts';
import type { ViewFiles } from './view-files.ts';

/** Somebody reads the file just now; later it may go. */
class ViewsBusyError extends Error {
  override readonly name = 'ViewsBusyError';
}

/** All that was written to a file stands in the file itself, and nothing beside it is needed. @throws ViewsBusyError; Error of SQLite */
function settleFile(path: string): void {
  if (!existsSync(path)) return;
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    if (database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()?.busy !== 0)
      throw new ViewsBusyError(`${path} is being read by another command`);
  } finally {
    database.close();
  }
}

const BUSY_PAUSE_MS = 50;

/** The same, as soon as nobody reads it. @throws ViewsBusyError when the signal is aborted before; Error of SQLite */
export async function settledFile(path: string, signal: AbortSignal): Promise<void> {
  for (;;) {
    try {
      return settleFile(path);
    } catch (error) {
      if (!(error instanceof ViewsBusyError) || signal.aborted) throw error;
    }
    await pause(BUSY_PAUSE_MS, signal);
  }
}

const keptOf = ({ previous }: ViewFiles): string => `${previous}.new`;

/**
 * Puts other views in the place of the live ones, which are kept as the previous ones. At each instant there are live views,
 * whole, the one or the other: `finishSwitch` tidies up behind a process that was killed in it. Nobody may have either file
 * open for writing. @throws ViewsBusyError; Error of SQLite or the file system; then the live views are what they were
 */
export function switchFiles(files: ViewFiles, candidate: string): void {
  const { live, previous } = files;
  const kept = keptOf(files);
  settleFile(candidate);
  settleFile(live);
  // Readers keep what they have open; for whoever opens the file next it is another's.
  for (const beside of ['-wal', '-shm']) for (const path of [live, candidate]) rmSync(path + beside, { force: true });
  rmSync(kept, { force: true });
  // Of views that were made of the previous ones, those are what there is to go back to; and to nothing nobody goes back.
  const isKept = existsSync(live) && !holdsNothing(live) && !(existsSync(previous) && readUpcastFrom(live).size > 0);
  if (isKept) linkSync(live, kept);
  renameSync(candidate, live);
  if (isKept) keepAsPrevious(files, candidate);
  giveToFolderOwner(live);
  syncFolder(dirname(candidate));
  syncFolder(dirname(live));
}

/** @throws Error of the file system; then the switch is taken back, and at each instant there were live views all the same */
function keepAsPrevious(files: ViewFiles, candidate: string): void {
  try {
    renameSync(keptOf(files), files.previous);
  } catch (error) {
    linkSync(files.live, candidate);
    renameSync(keptOf(files), files.live);
    throw error;
  }
}

/** What another program has written, and this one cannot read, is something. */
function holdsNothing(path: string): boolean {
  const through = readUndamaged(path, () => readFoldedThrough(path));
  return through.damage === null && through.read === null;
}

/** What a switch has left that was killed. */
export function finishSwitch(files: ViewFiles): void {
  const kept = keptOf(files);
  if (!existsSync(kept)) return;
  // Not switched yet: then it is a second name of the live views.
  if (isLive(files, kept)) rmSync(kept);
  else {
    // One that was being taken back: whoever makes views anew would write into the live ones.
    if (isLive(files, files.rebuild)) rmSync(files.rebuild);
    renameSync(kept, files.previous);
  }
}

const isLive = ({ live }: ViewFiles, path: string): boolean =>
  existsSync(live) && existsSync(path) && statSync(live).ino === statSync(path).ino;
