import { mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { assertFree, TakenPathError } from '../export/out-file.ts';
import { giveToFolderOwner } from '../folder-owner.ts';
import { syncFolder } from '../sync-folder.ts';

/** A folder that is whole or not there: until its end it has another name. */
export class PartialFolder {
  readonly path: string;
  readonly #folder: string;

  private constructor(folder: string, path: string) {
    this.#folder = folder;
    this.path = path;
  }

  /** @throws as `assertFree`; Error of the file system */
  static begin(folder: string): PartialFolder {
    assertFree(folder);
    const partial = `${folder}.partial`;
    try {
      mkdirSync(partial, { mode: 0o700 });
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
      const what = 'what was ended in between has left it, to be removed, or somebody else is writing it';
      throw new TakenPathError(`${partial}: is there already: ${what}`);
    }
    return new PartialFolder(folder, partial);
  }

  /** It has its name from here on. What is in it is on disk by then. @throws TakenPathError; Error of the file system */
  end(): void {
    settleFolder(this.path);
    assertFree(this.#folder);
    renameSync(this.path, this.#folder);
    syncFolder(dirname(this.#folder));
  }

  /** What was written so far is not kept. */
  drop(): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

/** All that is in a folder is its parent's owner's, where root has made it, and its entries are on disk. */
export function settleFolder(folder: string): void {
  giveToFolderOwner(folder);
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) settleFolder(path);
    else giveToFolderOwner(path);
  }
  syncFolder(folder);
}
