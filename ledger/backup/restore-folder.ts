import { existsSync, mkdirSync, readdirSync, renameSync, rmdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { makeFolders } from '../folder-owner.ts';
import { NOTE_FILE } from '../identity/folder-note.ts';
import { LedgerLostError } from '../identity/ledger-lost.ts';
import { type FolderLock, LOCK_FILE, lockFolder } from '../journal/folder-lock.ts';
import { JournalError } from '../journal/journal-error.ts';
import { LEDGER_FILE, MANIFEST_FILE } from '../ledger-file.ts';
import { syncFolder } from '../sync-folder.ts';
import { type BackupManifest, readManifest, writeManifest } from './manifest.ts';
import { settleFolder } from './partial-folder.ts';

/** In a data folder: what is being restored, and what has been, and is moved to its place. */
const PARTIAL = 'restore.partial';
const WHOLE = 'restore.whole';
/** What may lie in a folder into which a ledger is restored: what a backup does not have. */
const BESIDE = /^seal-key/;

/** A folder into which nothing can be restored: the message says why. */
export class NotRestorableError extends Error {
  override readonly name = 'NotRestorableError';
}

/** Until a restore has come to its end, nobody begins a ledger in its folder, or takes a part for the whole. @throws LedgerLostError */
export function assertNotBeingRestored(data: string): void {
  if (!existsSync(join(data, PARTIAL)) && !existsSync(join(data, WHOLE))) return;
  throw new LedgerLostError(
    `${data}: a ledger is being restored here, or that was ended in between; run \`gateway ledger restore\` again`,
    'the ledger is being restored',
  );
}

/**
 * A data folder into which a backup is restored. What is made has another name until it is whole: ended in between, it is made
 * again from its beginning, or, once it was whole, moved on to its place; and until its end nothing else uses the folder.
 */
export class RestoreFolder {
  readonly #data: string;
  /** Whether there was no data folder. */
  readonly #isNew: boolean;
  #lock: FolderLock | null;

  private constructor(data: string, { isNew, lock }: { readonly isNew: boolean; readonly lock: FolderLock }) {
    this.#data = data;
    this.#isNew = isNew;
    this.#lock = lock;
  }

  /**
   * Begins anew, in a folder that is empty, or has what is left of a restore that was ended in between; null where that had
   * made all of it, and `finishRestore` is what is left. @param of the backup's manifest
   * @throws NotRestorableError; Error of the file system
   */
  static begin(data: string, of: BackupManifest): RestoreFolder | null {
    const isNew = makeFolders(data);
    try {
      return RestoreFolder.#beginIn(data, { isNew, of });
    } catch (error) {
      if (isNew) removeEmpty(data);
      throw error;
    }
  }

  static #beginIn(
    data: string,
    { isNew, of }: { readonly isNew: boolean; readonly of: BackupManifest },
  ): RestoreFolder | null {
    const names = readdirSync(data).filter((name) => !BESIDE.test(name));
    if (names.includes(WHOLE)) {
      assertSame(data, of);
      return null;
    }
    const other = names.find((name) => name !== PARTIAL);
    if (other !== undefined)
      throw new NotRestorableError(`${data} is not empty (${other}): a ledger is restored into a new data folder`);
    if (names.length === 0) mkdirSync(join(data, PARTIAL), { mode: 0o700 });
    const lock = lockOf(data);
    for (const name of readdirSync(join(data, PARTIAL)))
      if (!name.startsWith(LOCK_FILE)) rmSync(join(data, PARTIAL, name), { recursive: true });
    return new RestoreFolder(data, { isNew, lock });
  }

  /** Where what is restored is made. */
  get path(): string {
    return join(this.#data, PARTIAL);
  }

  /** All of it is made, and on disk. @param of the manifest of the backup that it was made of @throws Error of the file system */
  end(of: BackupManifest): void {
    writeManifest(this.path, of);
    this.#release();
    rmSync(join(this.path, LOCK_FILE));
    settleFolder(this.path);
    renameSync(this.path, join(this.#data, WHOLE));
    syncFolder(this.#data);
  }

  /** Nothing of it is kept, and the folder is as it was. */
  drop(): void {
    this.#release();
    rmSync(this.path, { recursive: true, force: true });
    if (this.#isNew) removeEmpty(this.#data);
  }

  #release(): void {
    this.#lock?.release();
    this.#lock = null;
  }
}

/** What somebody has put there meanwhile stays. */
function removeEmpty(folder: string): void {
  if (existsSync(folder) && readdirSync(folder).length === 0) rmdirSync(folder);
}

/** What is left to be done is done of the same backup, and of nothing else that could be taken for what is there. @throws NotRestorableError */
function assertSame(data: string, of: BackupManifest): void {
  const whole = join(data, WHOLE);
  // It goes last.
  if (!existsSync(join(whole, MANIFEST_FILE))) return;
  const { restoredWith = [], ...made } = readManifest(whole);
  const { restoredWith: named = [], ...backup } = of;
  if (!isDeepStrictEqual(made, backup))
    throw new NotRestorableError(
      `into ${data} another backup is being restored, or that was ended in between: run it again with that one first`,
    );
  if (isDeepStrictEqual(restoredWith, named)) return;
  const how = restoredWith.length === 0 ? 'the backup alone' : `the backup with ${restoredWith.join(' ')}`;
  throw new NotRestorableError(
    `what is restored into ${data} was made of ${how}, and ended in between: run it again so, or empty the folder first`,
  );
}

/** @throws NotRestorableError */
function lockOf(data: string): FolderLock {
  try {
    return lockFolder(join(data, PARTIAL));
  } catch (error) {
    if (!(error instanceof JournalError) || error.kind !== 'in_use') throw error;
    throw new NotRestorableError(`another process is restoring a ledger into ${data}`);
  }
}

/** What was made is moved to its place, the ledger last; can be done again. */
export function finishRestore(data: string): void {
  const whole = join(data, WHOLE);
  const last = [NOTE_FILE, LEDGER_FILE];
  const names = readdirSync(whole).filter((name) => name !== MANIFEST_FILE);
  for (const name of names.sort((one, other) => last.indexOf(one) - last.indexOf(other)))
    renameSync(join(whole, name), join(data, name));
  syncFolder(data);
  rmSync(join(whole, MANIFEST_FILE), { force: true });
  rmdirSync(whole);
  syncFolder(data);
}
