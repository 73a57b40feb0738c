/** An event that is longer than this is not one of ours; its rest is skipped, not kept. */
export const CARRY_BYTES_MAX = 1024 * 1024;

const LF = 0x0a;
const BOUNDARY = Buffer.from('\n\n');
const CAPACITY_MIN = 1_024;

/**
 * The beginning of an event whose end has not come yet. It grows by doubling, so that an event in one-byte pieces costs
 * no more than its length.
 */
export class EventCarry {
  #buffer: Buffer | null = null;
  #length = 0;
  #isSkipping = false;
  #endsInLf = false;

  get isEmpty(): boolean {
    return this.#length === 0 && !this.#isSkipping;
  }

  /** Where in the next chunk the event ends, after its blank line; -1 when it does not. */
  endOfEventIn(chunk: Buffer): number {
    if (this.#endsInLf && chunk[0] === LF) return 1;
    const at = chunk.indexOf(BOUNDARY);
    return at === -1 ? -1 : at + 2;
  }

  /** Returns false, and keeps nothing of the part, when the event has become too long. */
  add(part: Buffer): boolean {
    this.#endsInLf = part.length === 0 ? this.#endsInLf : part[part.length - 1] === LF;
    if (this.#isSkipping) return true;
    if (this.#length + part.length > CARRY_BYTES_MAX) return false;
    this.#reserve(this.#length + part.length).set(part, this.#length);
    this.#length += part.length;
    return true;
  }

  /** Skips to the event's end and returns what was kept of it. */
  startSkipping(): Buffer {
    const kept = this.#buffer?.subarray(0, this.#length) ?? Buffer.alloc(0);
    this.#reset();
    this.#isSkipping = true;
    return kept;
  }

  /** The event, and an empty carry; null where it was skipped. Valid until the next `add`. */
  take(): Buffer | null {
    const event = this.#isSkipping ? null : (this.#buffer?.subarray(0, this.#length) ?? null);
    this.#length = 0;
    this.#isSkipping = false;
    this.#endsInLf = false;
    return event;
  }

  #reset(): void {
    this.#buffer = null;
    this.#length = 0;
  }

  #reserve(bytes: number): Buffer {
    if (this.#buffer !== null && this.#buffer.length >= bytes) return this.#buffer;
    const grown = Buffer.allocUnsafe(Math.max(CAPACITY_MIN, bytes, (this.#buffer?.length ?? 0) * 2));
    this.#buffer?.copy(grown, 0, 0, this.#length);
    this.#buffer = grown;
    return grown;
  }
}
