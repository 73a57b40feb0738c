import { existsSync, linkSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { messageOf } from '../contracts/message-of.ts';
import { isBusy } from '../ledger/event-log/sqlite/database-fault.ts';
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
    if (isBusyNow(database)) throw new ViewsBusyError(`${path} is being read by another command`);
  } finally {
    database.close();
  }
}

/** SQLite answers where somebody reads, and throws where somebody has all of it, as for the moment in which its -wal is made sense of. */
function isBusyNow(database: DatabaseSync): boolean {
  try {
    return database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()?.busy !== 0;
  } catch (error) {
    if (isBusy(error)) return true;
    throw error;
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

/** The name that the live views get beside their own, and have alone until they are the previous ones. */
const becomingPrevious = ({ previous }: ViewFiles): string => `${previous}.new`;

/**
 * Puts other views in the place of the live ones, which are kept as the previous ones. At each instant there are live views,
 * whole, the one or the other: `finishSwitch` tidies up behind a process that was killed in it. Nobody may have either file
 * open for writing. Null, or why the previous ones could not be given their name though the others are live: then they stand
 * where `previousViews` says, until `finishSwitch`. @throws ViewsBusyError; Error of SQLite or the file system; then the live
 * views are what they were
 */
export function switchFiles(files: ViewFiles, candidate: string): string | null {
  const { live, previous } = files;
  const becoming = becomingPrevious(files);
  settleFile(candidate);
  settleFile(live);
  // Readers keep what they have open; for whoever opens the file next it is another's.
  for (const beside of ['-wal', '-shm']) for (const path of [live, candidate]) rmSync(path + beside, { force: true });
  rmSync(becoming, { force: true });
  // Of views that were made of the previous ones, those are what there is to go back to; and to nothing nobody goes back.
  const keepsLive = existsSync(live) && !holdsNothing(live) && !(existsSync(previous) && readUpcastFrom(live).size > 0);
  if (keepsLive) linkSync(live, becoming);
  renameSync(candidate, live);
  const whyUnkept = keepsLive ? keepAsPrevious(files, candidate) : null;
  giveToFolderOwner(live);
  syncFolder(dirname(candidate));
  syncFolder(dirname(live));
  return whyUnkept;
}

/**
 * Null where they are kept. @throws Error of the file system; then the switch is taken back, and at each instant there were live
 * views all the same. Where that cannot be done either, it is done the other way round: who serves goes over, and says so
 */
function keepAsPrevious(files: ViewFiles, candidate: string): string | null {
  try {
    renameSync(becomingPrevious(files), files.previous);
    return null;
  } catch (error) {
    const why = takenBack(files, candidate);
    if (why === null) throw error;
    return `they cannot be kept as ${files.previous} (${messageOf(error)}), nor could the switch be taken back (${why}): they stand in ${previousViews(files)}`;
  }
}

/** Null where it is. */
function takenBack(files: ViewFiles, candidate: string): string | null {
  try {
    linkSync(files.live, candidate);
    renameSync(becomingPrevious(files), files.live);
    return null;
  } catch (error) {
    return messageOf(error);
  }
}

/** What whoever serves says of views that were live, and could not be given the name of the previous ones. */
export const UNKEPT =
  'the views that were live before keep a name of their own: `gateway projections rollback` gives them theirs';

/** Where the views stand that were live before the last switch: in a file of another name as long as they could not be given their own. */
export const previousViews = (files: ViewFiles): string => (isUnkept(files) ? becomingPrevious(files) : files.previous);

/** Of one that is under way it is a second name of the live ones. */
const isUnkept = (files: ViewFiles): boolean =>
  existsSync(becomingPrevious(files)) && !isLive(files, becomingPrevious(files));

/** Gives them that, where a switch could not, or was killed before. @throws Error of the file system */
export function keepUnkept(files: ViewFiles): void {
  if (isUnkept(files)) finishSwitch(files);
}

/** What another program has written, and this one cannot read, is something. */
function holdsNothing(path: string): boolean {
  const through = readUndamaged(path, () => readFoldedThrough(path));
  return through.damage === null && through.read === null;
}

/** What a switch has left that was killed. */
export function finishSwitch(files: ViewFiles): void {
  const becoming = becomingPrevious(files);
  if (!existsSync(becoming)) return;
  // Not switched yet: then it is a second name of the live views.
  if (isLive(files, becoming)) rmSync(becoming);
  else {
    // One that was being taken back: whoever makes views anew would write into the live ones.
    if (isLive(files, files.rebuild)) rmSync(files.rebuild);
    renameSync(becoming, files.previous);
  }
}

const isLive = ({ live }: ViewFiles, path: string): boolean =>
  existsSync(live) && existsSync(path) && statSync(live).ino === statSync(path).ino;
