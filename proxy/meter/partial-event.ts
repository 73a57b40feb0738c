import { EVENT_BYTES_MAX, IDLE_PARTIAL_BYTES_MAX } from './limits.ts';

const LF = 0x0a;
const BLANK_LINE = Buffer.from('\n\n');
const CAPACITY_MIN = 1_024;
/** So few bytes are copied faster one by one than by a call into native code. */
const COPIED_BY_HAND_MAX = 16;

/** An event's beginning. Doubles, so that single bytes cost no more; keeps the first EVENT_BYTES_MAX bytes. */
export class PartialEvent {
  #buffer: Buffer | null = null;
  #kept = 0;
  #bytes = 0;
  #endsInLf = false;

  get isEmpty(): boolean {
    return this.#bytes === 0;
  }

  get isOverlong(): boolean {
    return this.#bytes > EVENT_BYTES_MAX;
  }

  /** What is kept of the event: all of it, unless it is overlong. Valid until the next `add`. */
  get kept(): Buffer {
    return this.#buffer?.subarray(0, this.#kept) ?? Buffer.alloc(0);
  }

  /** Where in the next chunk the event ends, after its blank line; -1 when it does not. */
  endOfEventIn(chunk: Buffer): number {
    if (this.#endsInLf && chunk[0] === LF) return 1;
    if (chunk.length < BLANK_LINE.length) return -1;
    const at = chunk.indexOf(BLANK_LINE);
    return at === -1 ? -1 : at + BLANK_LINE.length;
  }

  /** Adds the bytes of the chunk from `from` up to `to` (exclusive): at least one. */
  add(chunk: Buffer, from: number, to: number): void {
    const added = Math.min(to - from, EVENT_BYTES_MAX - this.#kept);
    const buffer = this.#reserve(this.#kept + added);
    if (added > COPIED_BY_HAND_MAX) chunk.copy(buffer, this.#kept, from, from + added);
    else for (let at = 0; at < added; at++) buffer[this.#kept + at] = chunk[from + at] ?? 0;
    this.#kept += added;
    this.#bytes += to - from;
    this.#endsInLf = chunk[to - 1] === LF;
  }

  clear(): void {
    this.#kept = 0;
    this.#bytes = 0;
    if (this.#buffer !== null && this.#buffer.length > IDLE_PARTIAL_BYTES_MAX) this.#buffer = null;
  }

  #reserve(bytes: number): Buffer {
    if (this.#buffer !== null && this.#buffer.length >= bytes) return this.#buffer;
    const grown = Buffer.allocUnsafeSlow(Math.max(CAPACITY_MIN, bytes, (this.#buffer?.length ?? 0) * 2));
    this.#buffer?.copy(grown, 0, 0, this.#kept);
    this.#buffer = grown;
    return grown;
  }
}
