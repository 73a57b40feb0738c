import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  renameSync,
  statSync,
  truncateSync,
  writeSync,
} from 'node:fs';
import { statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { shortageOf } from '../../contracts/shortage.ts';
import { giveToFolderOwner } from '../folder-owner.ts';
import type { JournalBounds } from './limits.ts';
import { RESERVE_FILE } from './segment-folder.ts';

const CHUNK_BYTES = 1024 * 1024;
/** Of `stat`, whatever the file system's own are. */
const BLOCK_BYTES = 512;

interface ReserveOptions {
  readonly directory: string;
  readonly bounds: JournalBounds;
  /** What the ends of all requests that have begun may take, with those of one more. */
  readonly neededBytes: () => number;
  /** Told of a fault that is no want of room. */
  readonly onFailure: (cause: unknown) => void;
}

/** A file full of zeros, open, whose blocks are its own: what is written over them takes no room from anybody. */
interface ReservedFile {
  readonly fd: number;
  bytes: number;
}

/**
 * Room on the disk for the end of every request that has begun: a file of zeros, as long as all those ends can be, which
 * becomes the segment in use when the disk is full. They are written over the zeros, so that nobody else can have taken
 * their room meanwhile. (A file system that copies what is written over, as btrfs does, may still have none; then the
 * journal fails.) No request begins while the file is shorter than that, or while the disk has no margin beside it.
 * File and folder are open all the time, for a process that has no other descriptor left.
 *
 *   whole ──(begin met a full disk)──▶ guarded ──(margin fits)──▶ whole
 *     └─────(finish met one)─────────▶ taken ──(another and margin fit)──▶ whole
 */
export class Reserve {
  readonly #path: string;
  readonly #directory: string;
  readonly #bounds: JournalBounds;
  readonly #neededBytes: () => number;
  readonly #onFailure: (cause: unknown) => void;
  readonly #folderFd: number;
  /** Null after it was taken, or where the disk had no room for its name. */
  #file: ReservedFile | null;
  #shortSinceMs: number | null;
  #timer: NodeJS.Timeout | null = null;
  #looking: Promise<void> | null = null;
  #isClosed = false;

  /** Makes the file where the disk has room for it; otherwise starts without. */
  constructor({ directory, bounds, neededBytes, onFailure }: ReserveOptions) {
    this.#path = join(directory, RESERVE_FILE);
    this.#directory = directory;
    this.#bounds = bounds;
    this.#neededBytes = neededBytes;
    this.#onFailure = onFailure;
    this.#folderFd = openSync(directory, 'r');
    try {
      this.#file = this.#opened();
    } catch (error) {
      closeSync(this.#folderFd);
      throw error;
    }
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

  /** Whether there is room for the ends of one more request: looked at, and made, before it begins. */
  keepRoom(): boolean {
    const needed = this.#neededBytes();
    if (this.#file === null || !this.isWhole) return false;
    if (needed <= this.#file.bytes) return true;
    // Some requests more at once, so that few of those that begin pay for it: about a millisecond.
    const step = Math.min(CHUNK_BYTES, this.#bounds.reserveBytes);
    if (grow(this.#file, Math.max(needed, this.#file.bytes + step))) return true;
    this.guard();
    return false;
  }

  /** The disk is full: until there is room again nothing may begin. The reserve itself stays. */
  guard(): void {
    this.#shortSinceMs ??= performance.now();
    this.#lookSoon();
  }

  /**
   * Gives the file away, with a header at its beginning and under the name of a segment, for what must be written now; all
   * of that is on disk. Null where there is none. @throws what the file system said; then its room is anybody's again
   */
  take(path: string, header: Buffer): ReservedFile | null {
    this.guard();
    const file = this.#file;
    if (file === null || file.bytes < header.length) return null;
    try {
      writeSync(file.fd, header, 0, header.length, 0);
      fsyncSync(file.fd);
      renameSync(this.#path, path);
    } catch (error) {
      resize(file, 0);
      throw error;
    }
    this.#file = null;
    fsyncSync(this.#folderFd);
    return file;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#looking;
    if (this.#file !== null) closeSync(this.#file.fd);
    closeSync(this.#folderFd);
  }

  /** Null where a full disk has no room for its name. */
  #opened(): ReservedFile | null {
    try {
      const fd = openSync(this.#path, constants.O_RDWR | constants.O_CREAT, 0o600);
      giveToFolderOwner(this.#path);
      const { size, blocks } = fstatSync(fd);
      // A copy of it may have come without its zeros: then they are written anew.
      const isFilled = blocks * BLOCK_BYTES >= size;
      if (!isFilled) ftruncateSync(fd, 0);
      return { fd, bytes: isFilled ? size : 0 };
    } catch (error) {
      if (shortageOf(error) !== 'disk') throw error;
      return null;
    }
  }

  /** At the opening, before anything waits: some ten milliseconds where the file is not there yet. */
  #fillNow(): boolean {
    if (this.#file === null) return false;
    const isFilled = grow(this.#file, this.#bounds.reserveBytes);
    if (isFilled) resize(this.#file, this.#bounds.reserveBytes);
    return isFilled;
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

  get #wantedBytes(): number {
    return Math.max(this.#bounds.reserveBytes, this.#neededBytes());
  }

  /** A first look, so that a disk that is nearly full is not filled to the brim; quotas show in the writing only. */
  async #mayFit(): Promise<boolean> {
    const { bavail, bsize } = await statfs(this.#directory);
    return bavail * bsize >= this.#wantedBytes + this.#bounds.reserveMarginBytes - (this.#file?.bytes ?? 0);
  }

  /**
   * Fills the file and a margin beyond it, then gives the margin back: so there is room for more than the reserve. A piece
   * a turn, and each at once: in between the file may be taken.
   */
  async #fill(): Promise<void> {
    this.#file ??= this.#opened();
    const file = this.#file;
    if (file === null) return;
    const had = file.bytes;
    const fullBytes = this.#wantedBytes + this.#bounds.reserveMarginBytes;
    while (file.bytes < fullBytes) {
      if (!grow(file, Math.min(fullBytes, file.bytes + CHUNK_BYTES))) {
        // What was there before stays for the ends of requests; the rest is for whoever makes room.
        resize(file, had);
        return;
      }
      await nextTurn();
      if (this.#file !== file || this.#isClosed) return;
    }
    resize(file, this.#wantedBytes);
    this.#shortSinceMs = null;
  }
}

/** False where there is no room for it: then it is as long as before. */
function grow(file: ReservedFile, bytes: number): boolean {
  const zeros = Buffer.alloc(Math.min(CHUNK_BYTES, Math.max(0, bytes - file.bytes)));
  try {
    for (let size = file.bytes; size < bytes; )
      size += writeSync(file.fd, zeros, 0, Math.min(zeros.length, bytes - size), size);
  } catch (error) {
    ftruncateSync(file.fd, file.bytes);
    if (shortageOf(error) === null) throw error;
    return false;
  }
  file.bytes = Math.max(file.bytes, bytes);
  return true;
}

function resize(file: ReservedFile, bytes: number): void {
  ftruncateSync(file.fd, bytes);
  file.bytes = bytes;
}

/** Empties a reserve that nobody has open. False where there is none. */
export function emptyReserve(path: string): boolean {
  if (!existsSync(path) || statSync(path).size === 0) return false;
  truncateSync(path);
  return true;
}
