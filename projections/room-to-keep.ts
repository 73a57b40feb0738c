import { statSync } from 'node:fs';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { freeBytesAt, mebibytes } from '../ledger/room-on-disk.ts';
import { VIEW_LIMITS } from './limits.ts';

/** There is room, which is not for whoever writes. */
export class KeptRoomError extends Error {
  override readonly name = 'KeptRoomError';
}

/**
 * Room on the disk that whoever writes a file of views leaves to others. Looked for on the way of a transaction, whose pages go to
 * the WAL as they come, and once more before its end, behind which the WAL is written into the file: that has to have the
 * room by which it grows then.
 */
export class RoomToKeep {
  readonly #path: string;
  readonly #keepFreeBytes: number;
  readonly #pages: StatementSync;
  readonly #pageBytes: number;
  #rows = 0;

  constructor(
    database: DatabaseSync,
    { path, keepFreeBytes }: { readonly path: string; readonly keepFreeBytes: number },
  ) {
    this.#path = path;
    this.#keepFreeBytes = keepFreeBytes;
    this.#pages = database.prepare('PRAGMA page_count');
    this.#pageBytes = Number(database.prepare('PRAGMA page_size').get()?.page_size);
  }

  /** For each row that is written. @throws as `look` */
  beforeRow(): void {
    this.#rows += 1;
    if (this.#rows % VIEW_LIMITS.rowsPerRoomLook === 0) this.look();
  }

  /** @throws KeptRoomError */
  look(): void {
    // With the pages of the transaction.
    const bytes = Number(this.#pages.get()?.page_count) * this.#pageBytes;
    const growth = Math.max(0, bytes - statSync(this.#path).size);
    const free = freeBytesAt(this.#path);
    if (free >= this.#keepFreeBytes + VIEW_LIMITS.roomAheadBytes + growth) return;
    throw new KeptRoomError(
      `${mebibytes(free)} are free, of which ${mebibytes(this.#keepFreeBytes)} are kept for requests`,
    );
  }
}
