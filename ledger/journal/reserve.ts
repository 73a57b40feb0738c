import {
  closeSync,
  existsSync,
  fstatSync,
  ftruncate,
  ftruncateSync,
  openSync,
  statSync,
  truncateSync,
  write,
  writeSync,
} from 'node:fs';
import { statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { shortageOf } from '../../contracts/shortage.ts';
import type { JournalBounds } from './limits.ts';
import { RESERVE_FILE } from './segment-folder.ts';

const CHUNK_BYTES = 1024 * 1024;
const writeTo = promisify(write);
const truncate = promisify(ftruncate);

/**
 * Room on the disk that is kept for what must still be written when there is no other: a file of the folder that is
 * emptied then. While it is not whole again, with a margin beside it, no request begins. It is open all the time, so that
 * it can be emptied by a process that has no descriptor left.
 *
 *   whole ──(begin met a full disk)──▶ guarded ──(margin fits)──▶ whole
 *     └─────(finish met one)─────────▶ spent ──(reserve and margin fit)──▶ whole
 */
export class Reserve {
  readonly #path: string;
  readonly #fd: number;
  readonly #bounds: JournalBounds;
  readonly #onFailure: (cause: unknown) => void;
  #shortSinceMs: number | null;
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
    this.#fd = openSync(this.#path, 'a', 0o600);
    this.#shortSinceMs = this.#fillNow() ? null : performance.now();
    if (!this.isWhole) this.#lookSoon();
  }

  /** Whether the disk has room, as far as is known. */
  get isWhole(): boolean {
    return this.#shortSinceMs === null;
  }

  /** Since when it has none, by `performance.now()`; null where it has. */
  get shortSinceMs(): number | null {
    return this.#shortSinceMs;
  }

  /** The disk is full: until there is room again nothing may begin. The reserve itself stays. */
  guard(): void {
    this.#shortSinceMs ??= performance.now();
    this.#lookSoon();
  }

  /** Gives the room back to the file system, for a write that must be made. False where there was none left. */
  spend(): boolean {
    this.guard();
    this.#spendings += 1;
    if (fstatSync(this.#fd).size === 0) return false;
    ftruncateSync(this.#fd);
    return true;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#looking;
    closeSync(this.#fd);
  }

  /** At the opening, before anything waits: some ten milliseconds where the file is not there yet. */
  #fillNow(): boolean {
    const had = fstatSync(this.#fd).size;
    try {
      const zeros = Buffer.alloc(CHUNK_BYTES);
      for (let size = had; size < this.#bounds.reserveBytes; )
        size += writeSync(this.#fd, zeros, 0, Math.min(CHUNK_BYTES, this.#bounds.reserveBytes - size));
      ftruncateSync(this.#fd, this.#bounds.reserveBytes);
      return true;
    } catch (error) {
      if (shortageOf(error) === null) throw error;
      // A reserve in part would take the last of the room from what is to be written.
      ftruncateSync(this.#fd, had);
      return false;
    }
  }

  #lookSoon(): void {
    if (this.#timer !== null || this.#looking !== null || this.#isClosed) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#looking = this.#look().finally(() => {
        this.#looking = null;
        if (!this.isWhole) this.#lookSoon();
      });
    }, this.#bounds.reserveLookMs);
    this.#timer.unref();
  }

  async #look(): Promise<void> {
    try {
      if (await this.#mayFit()) await this.#fill();
    } catch (error) {
      if (shortageOf(error) === null) this.#onFailure(error);
    }
  }

  /** A first look, so that a disk that is nearly full is not filled to the brim; quotas show in the writing only. */
  async #mayFit(): Promise<boolean> {
    const { bavail, bsize } = await statfs(dirname(this.#path));
    const { reserveBytes, reserveMarginBytes } = this.#bounds;
    return bavail * bsize >= reserveBytes + reserveMarginBytes - fstatSync(this.#fd).size;
  }

  /** Fills the file and a margin beyond it, then gives the margin back: so there is room for more than the reserve. */
  async #fill(): Promise<void> {
    const { reserveBytes, reserveMarginBytes } = this.#bounds;
    const had = fstatSync(this.#fd).size;
    const spendings = this.#spendings;
    const zeros = Buffer.alloc(CHUNK_BYTES);
    try {
      for (let size = had; size < reserveBytes + reserveMarginBytes; ) {
        const bytes = Math.min(CHUNK_BYTES, reserveBytes + reserveMarginBytes - size);
        size += (await writeTo(this.#fd, zeros, 0, bytes, null)).bytesWritten;
        if (spendings !== this.#spendings) {
          await truncate(this.#fd, 0);
          return;
        }
      }
    } catch (error) {
      // What was there before stays for the ends of requests; the rest is for whoever makes room.
      await truncate(this.#fd, Math.min(had, reserveBytes));
      throw error;
    }
    await truncate(this.#fd, spendings === this.#spendings ? reserveBytes : 0);
    if (spendings === this.#spendings) this.#shortSinceMs = null;
  }
}

/** Empties a reserve that nobody has open. False where there is none. */
export function emptyReserve(path: string): boolean {
  if (!existsSync(path) || statSync(path).size === 0) return false;
  truncateSync(path);
  return true;
}
