import { lstatSync, rmSync } from 'node:fs';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { discardedOnSignal } from '../discarded-on-signal.ts';
import { giveToFolderOwner } from '../folder-owner.ts';
import { assertInNoBackup } from '../in-no-backup.ts';
import { syncFolder } from '../sync-folder.ts';

/** Written at once: enough that the calls do not count, little beside the rest of the program. */
const BUFFER_BYTES = 1 << 18;

/** Something has that name, or is being written under it. */
export class TakenPathError extends Error {
  override readonly name = 'TakenPathError';
}

/** Nothing that is there is replaced: no file, no device, no link; and nothing is made in a backup. @throws TakenPathError; LedgerLostError */
export function assertFree(path: string): void {
  assertInNoBackup(path);
  if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) throw new TakenPathError(`${path}: is there already`);
}

/**
 * A file that is whole or not there: until its end it has another name. Whoever writes waits for the disk, so that what is in
 * memory is a buffer and never the file. It is its owner's alone, as the ledger is; where root writes it, its folder's owner's.
 */
export class OutFile {
  readonly #path: string;
  readonly #partial: string;
  readonly #handle: FileHandle;
  readonly #buffer = Buffer.allocUnsafe(BUFFER_BYTES);
  #filled = 0;

  private constructor(path: string, partial: string, handle: FileHandle) {
    this.#path = path;
    this.#partial = partial;
    this.#handle = handle;
  }

  /** @throws as `assertFree`; Error of the file system */
  static async begin(path: string): Promise<OutFile> {
    assertFree(path);
    const partial = `${path}.partial`;
    try {
      return new OutFile(path, partial, await open(partial, 'wx', 0o600));
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
      const what = 'what was ended in between has left it, to be removed, or somebody else is writing it';
      throw new TakenPathError(`${partial}: is there already: ${what}`);
    }
  }

  /**
   * A file of what the work writes, where it ends well; else none, also where a signal ends the program in between.
   * @throws as `begin` does, and what the work throws
   */
  static async write<T>(path: string, work: (file: OutFile) => Promise<T>): Promise<T> {
    let begun: OutFile | null = null;
    const write = async (): Promise<T> => {
      const file = await OutFile.begin(path);
      begun = file;
      try {
        const made = await work(file);
        await file.end();
        return made;
      } catch (error) {
        await file.drop();
        throw error;
      }
    };
    const discard = (): void => {
      if (begun !== null) begun.#dropNow();
    };
    return discardedOnSignal(discard, write);
  }

  /** Waits for the disk where the buffer is full. */
  write(chunk: string | Uint8Array): Promise<void> | undefined {
    const most = typeof chunk === 'string' ? chunk.length * 3 : chunk.byteLength;
    if (most > BUFFER_BYTES - this.#filled) return this.#writeBehind(chunk);
    this.#filled +=
      typeof chunk === 'string'
        ? this.#buffer.write(chunk, this.#filled, 'utf8')
        : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength).copy(this.#buffer, this.#filled);
    return undefined;
  }

  /** The file has its name from here on. */
  async end(): Promise<void> {
    await this.#flush();
    await this.#handle.sync();
    giveToFolderOwner(this.#partial);
    assertFree(this.#path);
    await this.#handle.close();
    await rename(this.#partial, this.#path);
    syncFolder(dirname(this.#path));
  }

  /** What was written so far is not kept. */
  async drop(): Promise<void> {
    await this.#handle.close();
    await rm(this.#partial, { force: true });
  }

  /** The same at once, by a process that ends: what it has open ends with it. */
  #dropNow(): void {
    rmSync(this.#partial, { force: true });
  }

  async #writeBehind(chunk: string | Uint8Array): Promise<void> {
    await this.#flush();
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk, 'utf8') : chunk;
    if (bytes.byteLength > BUFFER_BYTES / 2) await this.#handle.appendFile(bytes);
    else this.#filled = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).copy(this.#buffer);
  }

  async #flush(): Promise<void> {
    if (this.#filled > 0) await this.#handle.appendFile(this.#buffer.subarray(0, this.#filled));
    this.#filled = 0;
  }
}
