import { DatabaseSync } from 'node:sqlite';
import { isFolderLocked } from '../ledger/journal/folder-lock.ts';
import { AccountViews } from './account-views.ts';
import { CatalogView } from './catalog-view.ts';
import { readUndamaged } from './damaged-views.ts';
import { areViewsOf, readFoldedThrough, readLedgerOfViews } from './known-views.ts';
import { removeViews } from './remove-views.ts';
import { switchFiles } from './switched-file.ts';
import { upcastViews } from './upcast-views.ts';
import type { StoredView } from './view.ts';
import { checkpointOf, type StoredCheckpoint } from './view-file.ts';
import type { ViewFiles } from './view-files.ts';

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

function viewsOfThisProgram(): StoredView[] {
  const accounts = new AccountViews();
  return [...accounts.all, new CatalogView(), accounts.setAside];
}

/** What a start has put in the place of live views of other versions. */
type Prepared =
  /** Views that were folded beforehand, by their path. */
  | { readonly type: 'folded'; readonly path: string }
  /** The live views themselves, by the versions that they were of. */
  | { readonly type: 'upcast'; readonly from: ReadonlyMap<string, number> };

/**
 * For the start of a gateway: where the live views are another program's, what is made of them takes their place, as that goes as far as they do. Where
 * nothing can be made of them, those that `gateway projections rebuild` of this program has folded beside them, however long ago, or those of before, where
 * the program is the one of before again. Null where nothing was changed. `onUnmade` is told why nothing could be made of them. @throws Error of the file system
 */
export function takePreparedViews(files: ViewFiles, onUnmade: (reason: string) => void): Prepared | null {
  // Where a start was killed that made some.
  removeViews(files.upcast);
  if (areOfThisProgram(files.live) !== false) return null;
  const from = upcastLive(files, onUnmade);
  if (from !== null) return { type: 'upcast', from };
  const candidates = isFolderLocked(files.rebuildFolder) ? [files.previous] : [files.rebuild, files.previous];
  const prepared = candidates.filter(
    (path) => areOfThisProgram(path) === true && areViewsOf(path, readLedgerOfViews(files.live)),
  );
  const path = prepared.find((one) => isComplete(one)) ?? prepared[0];
  if (path === undefined) return null;
  switchFiles(files, path);
  return { type: 'folded', path };
}

/** Null where it cannot be done; then all is as it was. */
function upcastLive(files: ViewFiles, onUnmade: (reason: string) => void): ReadonlyMap<string, number> | null {
  try {
    const from = upcastViews({ from: files.live, to: files.upcast }, viewsOfThisProgram());
    if (from !== null) switchFiles(files, files.upcast);
    return from;
  } catch (error) {
    removeViews(files.upcast);
    onUnmade(error instanceof Error ? error.message : String(error));
    return null;
  }
}

/** Whether views had come to the end of the log once. */
function isComplete(path: string): boolean {
  const at = standingOf(path);
  return at !== null && at !== 'others' && at.currentAtMs !== null;
}
