import assert from 'node:assert/strict';
import type { ByteEdit } from './edit-top-level.ts';
import { freeBytes } from './free-bytes.ts';
import { hasMoreValues } from './json-scan.ts';
import { READ_AT_ONCE_BYTES_MAX, READ_AT_ONCE_VALUES_MAX } from './limits.ts';

/**
 * A request's body as it came, or as it goes upstream. What is short in bytes is one piece. What is long has many, and stays
 * so: to put 32 MiB together, or to copy them for a change of a few bytes, would hold up all others for up to a tenth of a
 * second.
 */
export class RequestBytes {
  readonly length: number;
  #pieces: readonly Buffer[];
  #isShown = false;
  #isFreed = false;
  /** Null until somebody asks: most bodies are read once. */
  #isShort: boolean | null = null;

  constructor(pieces: readonly Buffer[]) {
    this.#pieces = pieces;
    this.length = pieces.reduce((sum, piece) => sum + piece.length, 0);
    assert(pieces.length === 1 || this.length > READ_AT_ONCE_BYTES_MAX, 'a short body is one piece');
  }

  /** Whether it may be parsed where others wait for it: short in bytes and in values. */
  get isShort(): boolean {
    this.#isShort ??= this.#hasFewValues();
    return this.#isShort;
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
  changed(changes: readonly ByteEdit[]): RequestBytes {
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
      Math.min(this.length, lengthOf(pieces)) <= READ_AT_ONCE_BYTES_MAX ? [Buffer.concat(pieces)] : pieces,
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

  /** Freed at once where only threads have seen them; else something may still write them upstream. */
  free(): void {
    this.#isFreed = true;
    if (this.#isShown) return;
    for (const piece of this.#pieces) freeBytes(piece);
    this.#pieces = [];
  }

  /** Not by `pieces`: what is but looked at here is on its way to nobody. */
  #hasFewValues(): boolean {
    if (this.length > READ_AT_ONCE_BYTES_MAX) return false;
    const [whole] = this.#pieces;
    assert(whole !== undefined, 'the body is not lent to a thread, nor freed');
    // A value has a byte at the least, so the shortest need no look.
    return this.length <= READ_AT_ONCE_VALUES_MAX || !hasMoreValues(whole, READ_AT_ONCE_VALUES_MAX);
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
