import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { isFolderLocked } from '../ledger/journal/folder-lock.ts';
import { beginAnew } from './begin-anew.ts';
import { readUndamaged } from './damaged-views.ts';
import { upcastInThread } from './in-views-thread.ts';
import { areViewsOf, readFoldedThrough, readLedgerOfViews } from './known-views.ts';
import { VIEW_LIMITS } from './limits.ts';
import { removeViews, renameViews } from './remove-views.ts';
import { settledFile, switchFiles } from './switched-file.ts';
import { areVerified } from './verified-mark.ts';
import { checkpointOf, type StoredCheckpoint } from './view-file.ts';
import type { ViewFiles } from './view-files.ts';
import { viewsOfThisProgram } from './views-of-this-program.ts';
import { isWantOfRoom } from './want-of-room.ts';

/** Whether the views of a file are of this program's versions; null where it has none, or they cannot be read. */
export function areOfThisProgram(path: string): boolean | null {
  const at = standingOf(path);
  return at === null ? null : at !== 'others';
}

/** Where the views of a file stand, if they are of this program's versions. */
function standingOf(path: string): StoredCheckpoint | 'others' | null {
  const looked = readUndamaged(path, () => {
    if (readFoldedThrough(path) === null) return null;
    const database = new DatabaseSync(path, { readOnly: true, timeout: 5_000 });
    try {
      return checkpointOf(database, viewsOfThisProgram()) ?? 'others';
    } finally {
      database.close();
    }
  });
  return looked.damage === null ? looked.read : null;
}

/** What a start has put in the place of live views of other versions. */
type Prepared =
  /** Views that were folded beforehand, by their path. */
  | { readonly type: 'folded'; readonly path: string }
  /** The live views themselves, by the versions that they were of. */
  | { readonly type: 'upcast'; readonly from: ReadonlyMap<string, number> }
  /** Nothing, for want of room alone: the live views are what they were, and can be read as ones of now. */
  | { readonly type: 'unmade' }
  /** Nothing: all is folded anew, and theirs are kept for the program that has written them. */
  | { readonly type: 'kept' };

interface PrepareParts {
  readonly files: ViewFiles;
  /** What is made of the live views leaves the disk so much. */
  readonly keepFreeBytes: number;
  /** Why nothing could be made of them. */
  readonly onUnmade: (reason: string) => void;
  /** Why those of before could not be given their name (switched-file.ts), once others are in their place. */
  readonly onUnkept: (reason: string) => void;
}

/**
 * For the start of a gateway whose live views are another program's: what is made of them, in a thread of its own, takes their place, as that goes as far as
 * they do. Where nothing can be made of them, those that `gateway projections rebuild` of this program has folded beside them, however long ago, or those of
 * before, where the program is the one of before again; and where it was for want of room alone, nothing is done. Nobody else writes to any of the files. @throws Error of the file system; where the signal is aborted
 * before, with the live views as they were
 */
export async function takePreparedViews(parts: PrepareParts, signal: AbortSignal): Promise<Prepared> {
  const { files } = parts;
  // Where a start was killed that made some.
  removeViews(files.upcast);
  const from = await upcastLive(parts, signal);
  if (from !== null && from !== 'not for now') return { type: 'upcast', from };
  const candidates = isFolderLocked(files.rebuildFolder) ? [files.previous] : [files.rebuild, files.previous];
  const identity = readLedgerOfViews(files.live);
  const prepared = candidates.filter((path) => areOfThisProgram(path) === true && areViewsOf(path, identity));
  const path = prepared.find((one) => isComplete(one) && (one === files.previous || areVerified(one))) ?? prepared[0];
  if (path !== undefined) {
    tellUnkept(switchFiles(files, path), parts);
    return { type: 'folded', path };
  }
  if (from !== null) return { type: 'unmade' };
  beginAnew(files.live, () => renameViews(files.live, files.previous));
  return { type: 'kept' };
}

function tellUnkept(why: string | null, { onUnkept }: PrepareParts): void {
  if (why !== null) onUnkept(why);
}

/** Null where it cannot be done, and other words where it cannot for now; then all is as it was. A command that reads them on and on has them folded anew. */
async function upcastLive(
  parts: PrepareParts,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, number> | 'not for now' | null> {
  const { files, onUnmade } = parts;
  try {
    const from = await upcastWithRoom(parts, signal);
    if (from === null) return null;
    if ('notForNow' in from) {
      removeViews(files.upcast);
      onUnmade(from.notForNow);
      return 'not for now';
    }
    await settledFile(files.live, AbortSignal.any([signal, AbortSignal.timeout(VIEW_LIMITS.upcastReadMs)]));
    tellUnkept(switchFiles(files, files.upcast), parts);
    return from;
  } catch (error) {
    removeViews(files.upcast);
    signal.throwIfAborted();
    onUnmade(error instanceof Error ? error.message : String(error));
    return isWantOfRoom(error) ? 'not for now' : null;
  }
}

/** Where there is no room, that of the views of before is taken, once: the live ones come in their place, whatever this start comes to. */
async function upcastWithRoom(
  { files, keepFreeBytes }: PrepareParts,
  signal: AbortSignal,
): ReturnType<typeof upcastInThread> {
  const of = { from: files.live, to: files.upcast, keepFreeBytes };
  const made = await upcastInThread(of, signal);
  const isWanting = made !== null && 'notForNow' in made;
  if (!isWanting || !existsSync(files.previous) || areOfThisProgram(files.previous) === true) return made;
  removeViews(files.previous);
  return upcastInThread(of, signal);
}

/** Whether views had come to the end of the log once. */
function isComplete(path: string): boolean {
  const at = standingOf(path);
  return at !== null && at !== 'others' && at.currentAtMs !== null;
}
