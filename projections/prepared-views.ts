import { DatabaseSync } from 'node:sqlite';
import { isFolderLocked } from '../ledger/journal/folder-lock.ts';
import { AccountViews } from './account-views.ts';
import { CatalogView } from './catalog-view.ts';
import { readUndamaged } from './damaged-views.ts';
import { areViewsOf, readFoldedThrough, readLedgerOfViews } from './known-views.ts';
import { switchFiles } from './switched-file.ts';
import { checkpointOf } from './view-file.ts';
import type { ViewFiles } from './view-files.ts';

/** Whether the views of a file are of this program's versions; null where it has none, or they cannot be read. */
export function areOfThisProgram(path: string): boolean | null {
  const looked = readUndamaged(path, () => {
    if (readFoldedThrough(path) === null) return null;
    const accounts = new AccountViews();
    const database = new DatabaseSync(path, { readOnly: true, timeout: 5_000 });
    try {
      return checkpointOf(database, [...accounts.all, new CatalogView(), accounts.setAside]) !== null;
    } finally {
      database.close();
    }
  });
  return looked.damage === null ? looked.read : null;
}

/**
 * For the start of a gateway: where the live views are another program's, those that `gateway projections rebuild` of this
 * program has made beside them take their place; or those of before, where the program is the one of before again. Returns which;
 * null where nothing was changed. @throws Error of the file system
 */
export function takePreparedViews(files: ViewFiles): string | null {
  if (areOfThisProgram(files.live) !== false) return null;
  const candidates = isFolderLocked(files.rebuildFolder) ? [files.previous] : [files.rebuild, files.previous];
  const prepared = candidates.find(
    (path) => areOfThisProgram(path) === true && areViewsOf(path, readLedgerOfViews(files.live)),
  );
  if (prepared === undefined) return null;
  switchFiles(files, prepared);
  return prepared;
}
