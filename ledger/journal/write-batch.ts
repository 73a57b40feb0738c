import assert from 'node:assert/strict';
import type { RequestId } from '../../contracts/ids.ts';
import { SETTLED_WAITING_MAX, TEXT_BYTES_MAX } from './limits.ts';
import { beginBytes, finishBytes, putBegin, putChecksum, putFinish, putSettled, settleBytes } from './record-v1.ts';

/** A character takes at most three bytes of UTF-8 for each of its UTF-16 units. */
const BUFFER_BYTES = settleBytes(SETTLED_WAITING_MAX) + beginBytes(3 * TEXT_BYTES_MAX);
const TEXT_TOO_LONG = `a start or an end has at most ${TEXT_BYTES_MAX} bytes`;

/** The requests settled since the last write, then a begin or a finish. One buffer: a write allocates nothing. */
export class WriteBatch {
  readonly buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES);
  #settled = 0;
  #settledEnd = 0;
  #end = 0;

  get settled(): number {
    return this.#settled;
  }

  get bytes(): number {
    return this.#end;
  }

  /** Where the begin or finish starts, after the settled requests. */
  get recordAt(): number {
    return this.#settledEnd;
  }

  addSettled(id: RequestId): void {
    assert(this.#settled < SETTLED_WAITING_MAX, 'settled requests are written before there are too many');
    this.#settledEnd = putSettled(this.buffer, 0, this.#settled, id);
    this.#settled += 1;
    this.#end = this.#settledEnd;
  }

  setBegin(id: RequestId, sequence: number, text: string): void {
    assert(text.length <= TEXT_BYTES_MAX, TEXT_TOO_LONG);
    const end = putBegin(this.buffer, this.#settledEnd, id, sequence, text);
    assert(end - this.#settledEnd <= beginBytes(TEXT_BYTES_MAX), TEXT_TOO_LONG);
    this.#end = end;
  }

  setFinish(id: RequestId, text: string): void {
    assert(text.length <= TEXT_BYTES_MAX, TEXT_TOO_LONG);
    const end = putFinish(this.buffer, this.#settledEnd, id, text);
    assert(end - this.#settledEnd <= finishBytes(TEXT_BYTES_MAX), TEXT_TOO_LONG);
    this.#end = end;
  }

  /** Makes the records valid at the place where they are about to be written. */
  putChecksum(segment: number, offset: number): void {
    if (this.#settled > 0) putChecksum(this.buffer, 0, this.#settledEnd, segment, offset);
    if (this.#end > this.#settledEnd)
      putChecksum(this.buffer, this.#settledEnd, this.#end, segment, offset + this.#settledEnd);
  }

  clear(): void {
    this.#settled = 0;
    this.#settledEnd = 0;
    this.#end = 0;
  }

  /** The begin or finish was refused; the settled requests go on waiting. */
  dropRecord(): void {
    this.#end = this.#settledEnd;
  }
}
