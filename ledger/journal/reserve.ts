import { closeSync, existsSync, fstatSync, ftruncateSync, openSync, statSync, truncateSync, writeSync } from 'node:fs';
import { type FileHandle, open, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isDiskFull } from './journal-error.ts';
import type { JournalBounds } from './limits.ts';
import { RESERVE_FILE } from './segment-folder.ts';

const CHUNK_BYTES = 1024 * 1024;

/**
 * Room on the disk that is kept for what must still be written when there is no other: a file of the folder that is
 * emptied then. While it is not whole again, with a margin beside it, no request begins.
 *
 *   whole ──(begin met a full disk)──▶ guarded ──(margin fits)──▶ whole
 *     └─────(finish met one)─────────▶ spent ──(reserve and margin fit)──▶ whole
 */
export class Reserve {
  readonly #path: string;
  readonly #bounds: JournalBounds;
  readonly #onFailure: (cause: unknown) => void;
  #isWhole: boolean;
  #timer: NodeJS.Timeout | null = null;
  #looking: Promise<void> | null = null;
  #isClosed = false;
  /** Counts spendings, so that a filling under way knows that it must not go on. */
  #spendings = 0;

  /** Makes the file where the disk has room for it; otherwise starts as spent. `onFailure` is told of any other fault. */
  constructor(directory: string, bounds: JournalBounds, onFailure: (cause: unknown) => void) {
    this.#path = join(directory, RESERVE_FILE);
    this.#bounds = bounds;
    this.#onFailure = onFailure;
    this.#isWhole = this.#fillNow();
    if (!this.#isWhole) this.#lookSoon();
  }

  /** Whether the disk has room, as far as is known. */
  get isWhole(): boolean {
    return this.#isWhole;
  }

  /** The disk is full: until there is room again nothing may begin. The reserve itself stays. */
  guard(): void {
    this.#isWhole = false;
    this.#lookSoon();
  }

  /** Gives the room back to the file system, for a write that must be made. False where there was none left. */
  spend(): boolean {
    this.guard();
    this.#spendings += 1;
    return emptyReserve(this.#path);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#looking;
  }

  /** At the opening, before anything waits: some ten milliseconds where the file is not there yet. */
  #fillNow(): boolean {
    const fd = openSync(this.#path, 'a', 0o600);
    const had = fstatSync(fd).size;
    try {
      const zeros = Buffer.alloc(CHUNK_BYTES);
      for (let size = had; size < this.#bounds.reserveBytes; )
        size += writeSync(fd, zeros, 0, Math.min(CHUNK_BYTES, this.#bounds.reserveBytes - size));
      ftruncateSync(fd, this.#bounds.reserveBytes);
      return true;
    } catch (error) {
      if (!isDiskFull(error)) throw error;
      // A reserve in part would take the last of the room from what is to be written.
      ftruncateSync(fd, had);
      return false;
    } finally {
      closeSync(fd);
    }
  }

  #lookSoon(): void {
    if (this.#timer !== null || this.#looking !== null || this.#isClosed) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#looking = this.#look().finally(() => {
        this.#looking = null;
        if (!this.#isWhole) this.#lookSoon();
      });
    }, this.#bounds.reserveLookMs);
    this.#timer.unref();
  }

  async #look(): Promise<void> {
    try {
      if (!(await this.#mayFit())) return;
      const file = await open(this.#path, 'a', 0o600);
      try {
        await this.#fill(file);
      } finally {
        await file.close();
      }
    } catch (error) {
      if (!isDiskFull(error)) this.#onFailure(error);
    }
  }

  /** A first look, so that a disk that is nearly full is not filled to the brim; quotas show in the writing only. */
  async #mayFit(): Promise<boolean> {
    const { bavail, bsize } = await statfs(dirname(this.#path));
    const { reserveBytes, reserveMarginBytes } = this.#bounds;
    const had = existsSync(this.#path) ? statSync(this.#path).size : 0;
    return bavail * bsize >= reserveBytes + reserveMarginBytes - had;
  }

  /** Fills the file and a margin beyond it, then gives the margin back: so there is room for more than the reserve. */
  async #fill(file: FileHandle): Promise<void> {
    const { reserveBytes, reserveMarginBytes } = this.#bounds;
    const had = (await file.stat()).size;
    const spendings = this.#spendings;
    const zeros = Buffer.alloc(CHUNK_BYTES);
    try {
      for (let size = had; size < reserveBytes + reserveMarginBytes; ) {
        const { bytesWritten } = await file.write(
          zeros,
          0,
          Math.min(CHUNK_BYTES, reserveBytes + reserveMarginBytes - size),
        );
        size += bytesWritten;
        if (spendings !== this.#spendings) {
          await file.truncate(0);
          return;
        }
      }
    } catch (error) {
      // What was there before stays for the ends of requests; the rest is for whoever makes room.
      await file.truncate(Math.min(had, reserveBytes));
      throw error;
    }
    await file.truncate(spendings === this.#spendings ? reserveBytes : 0);
    this.#isWhole = spendings === this.#spendings;
  }
}

/** Empties a reserve. False where there is none. */
export function emptyReserve(path: string): boolean {
  if (!existsSync(path) || statSync(path).size === 0) return false;
  truncateSync(path);
  return true;
}
