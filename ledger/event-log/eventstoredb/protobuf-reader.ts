import assert from 'node:assert/strict';

/**
 * Reads one message in the wire format of Protocol Buffers, field by field, and makes nothing of what nobody asks for.
 *
 *   for (let field = reader.next(); field !== 0; field = reader.next())
 *     if (field === 3) … = reader.number(); else reader.skip();
 *
 * @throws AssertionError for bytes that are no such message, in each method
 */
export class ProtobufReader {
  readonly #bytes: Buffer;
  readonly #end: number;
  #at: number;
  #wireType = 0;

  constructor(bytes: Buffer, at = 0, end = bytes.length) {
    this.#bytes = bytes;
    this.#at = at;
    this.#end = end;
  }

  /** The number of the next field; 0 at the end. */
  next(): number {
    if (this.#at >= this.#end) return 0;
    const tag = this.#varint();
    this.#wireType = tag % 8;
    return Math.floor(tag / 8);
  }

  /** A number below 2^53, or a truth. */
  number(): number {
    const value = this.roughNumber();
    assert(value <= Number.MAX_SAFE_INTEGER, 'a number is below 2^53');
    return value;
  }

  /** A number of up to 64 bits; above 2^53 it is not exact. */
  roughNumber(): number {
    assert(this.#wireType === VARINT, 'a number is a varint');
    return this.#varint();
  }

  /** A message within this one. */
  message(): ProtobufReader {
    const end = this.#lengthEnd();
    const reader = new ProtobufReader(this.#bytes, this.#at, end);
    this.#at = end;
    return reader;
  }

  /** Text, whatever its bytes. */
  text(): string {
    const end = this.#lengthEnd();
    const text = this.#bytes.toString('utf8', this.#at, end);
    this.#at = end;
    return text;
  }

  /** A view of the bytes, no copy. */
  bytes(): Buffer {
    const end = this.#lengthEnd();
    const bytes = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return bytes;
  }

  skip(): void {
    const fixed = FIXED[this.#wireType];
    if (this.#wireType === VARINT) this.#skipVarint();
    else if (fixed === undefined) this.#at = this.#lengthEnd();
    else this.#at = this.#within(this.#at + fixed);
  }

  #lengthEnd(): number {
    assert(this.#wireType === LENGTH_DELIMITED, 'text, bytes and messages have a length');
    const size = this.#varint();
    return this.#within(this.#at + size);
  }

  #within(at: number): number {
    assert(at <= this.#end, 'a field ends within its message');
    return at;
  }

  /** Of a number that is skipped nothing is asked but its end: one of 64 bits may be no number of ours. */
  #skipVarint(): void {
    for (let size = 1; size <= VARINT_BYTES_MAX; size++) {
      this.#within(this.#at + 1);
      if ((this.#bytes[this.#at++] ?? 0) < 0x80) return;
    }
    assert.fail('a number ends');
  }

  #varint(): number {
    let value = 0;
    for (let unit = 1; ; unit *= 0x80) {
      this.#within(this.#at + 1);
      const byte = this.#bytes[this.#at++] ?? 0;
      value += (byte % 0x80) * unit;
      if (byte < 0x80) return value;
      assert(unit < LAST_UNIT, 'a number ends');
    }
  }
}

const VARINT = 0;
const LENGTH_DELIMITED = 2;
/** 64 bits, and 32. */
const FIXED: Readonly<Record<number, number>> = { 1: 8, 5: 4 };
const VARINT_BYTES_MAX = 10;
const LAST_UNIT = 0x80 ** (VARINT_BYTES_MAX - 1);
