import assert from 'node:assert/strict';
import type { Change } from './edit-top-level.ts';
import { freeBytes } from './free-bytes.ts';
import { READ_AT_ONCE_BYTES_MAX } from './limits.ts';

/**
 * A request's body as it came, or as it goes upstream. A short one is one piece. A long one is many, and stays so: to put
 * 32 MiB together, or to copy them for a change of a few bytes, would hold up all others for up to a tenth of a second.
 */
export class RequestBytes {
  readonly length: number;
  #pieces: readonly Buffer[];
  #isShown = false;
  #isFreed = false;

  constructor(pieces: readonly Buffer[]) {
    this.#pieces = pieces;
    this.length = pieces.reduce((sum, piece) => sum + piece.length, 0);
    assert(pieces.length === 1 || !this.isShort, 'a short body is one piece');
  }

  /** Whether it may be parsed where others wait for it. */
  get isShort(): boolean {
    return this.length <= READ_AT_ONCE_BYTES_MAX;
  }

  get pieces(): readonly Buffer[] {
    assert(this.#pieces.length > 0, 'the body is not lent to a thread, nor freed');
    this.#isShown = true;
    return this.#pieces;
  }

  /** All of a short body. */
  get whole(): Buffer {
    const [whole] = this.pieces;
    assert(this.isShort && whole !== undefined, 'a long body is read by a thread');
    return whole;
  }

  /** Itself where nothing changes. What stays of a long one is not copied. */
  changed(changes: readonly Change[]): RequestBytes {
    if (changes.length === 0) return this;
    const pieces: Buffer[] = [];
    let copied = 0;
    for (const { from, to, text } of changes) {
      pieces.push(...this.#between(copied, from));
      if (text !== '') pieces.push(Buffer.from(text));
      copied = to;
    }
    pieces.push(...this.#between(copied, this.length));
    return new RequestBytes(
      this.isShort || lengthOf(pieces) <= READ_AT_ONCE_BYTES_MAX ? [Buffer.concat(pieces)] : pieces,
    );
  }

  /** Gives the pieces away until they come back; meanwhile nobody else may look. Where they do not come back it is lost. */
  async lend<T>(
    borrow: (pieces: readonly Buffer[]) => Promise<{ readonly pieces: readonly Buffer[]; readonly value: T }>,
  ): Promise<T> {
    const pieces = this.#pieces;
    assert(pieces.length > 0, 'the body is not lent to a thread, nor freed');
    this.#pieces = [];
    const lent = await borrow(pieces);
    this.#pieces = lent.pieces;
    if (this.#isFreed) this.free();
    return lent.value;
  }

  /**
   * Nobody wants the bytes any more. What nobody but threads has looked at is freed at once; else something may be writing
   * it to an upstream still, and it goes when that has let go of it.
   */
  free(): void {
    this.#isFreed = true;
    if (this.#isShown) return;
    for (const piece of this.#pieces) freeBytes(piece);
    this.#pieces = [];
  }

  #between(from: number, to: number): Buffer[] {
    const pieces: Buffer[] = [];
    let start = 0;
    for (const piece of this.pieces) {
      const [first, last] = [Math.max(from - start, 0), Math.min(to - start, piece.length)];
      if (first < last) pieces.push(piece.subarray(first, last));
      start += piece.length;
    }
    return pieces;
  }
}

const lengthOf = (pieces: readonly Buffer[]): number => pieces.reduce((sum, piece) => sum + piece.length, 0);
