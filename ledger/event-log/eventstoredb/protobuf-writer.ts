import assert from 'node:assert/strict';

/**
 * Writes one message in the wire format of Protocol Buffers. The generated code of the client builds an object for each
 * message, map and number before it writes any: a third of the cost of an append. Whoever writes says first how long the
 * message is, and how long each one within it.
 */
export class ProtobufWriter {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(size: number) {
    this.#bytes = Buffer.allocUnsafe(size);
  }

  /** @throws AssertionError when it is not as long as was said */
  done(): Buffer {
    assert(this.#at === this.#bytes.length, 'a message is as long as was said');
    return this.#bytes;
  }

  /** A number, or a truth: 0 to 2^53. */
  number(field: number, value: number): void {
    this.#varint(field * 8);
    this.#varint(value);
  }

  /** The beginning of a message within this one, which is written next. */
  begin(field: number, size: number): void {
    this.#varint(field * 8 + LENGTH_DELIMITED);
    this.#varint(size);
  }

  /** @param size its bytes in UTF-8 */
  text(field: number, text: string, size: number): void {
    this.begin(field, size);
    this.#at += this.#bytes.write(text, this.#at);
  }

  /** Fields that somebody has written before. */
  written(fields: Buffer): void {
    this.#bytes.set(fields, this.#at);
    this.#at += fields.length;
  }

  #varint(value: number): void {
    let rest = value;
    while (rest >= 0x80) {
      this.#bytes[this.#at++] = (rest % 0x80) + 0x80;
      rest = Math.floor(rest / 0x80);
    }
    this.#bytes[this.#at++] = rest;
  }
}

const LENGTH_DELIMITED = 2;

/** The bytes of a number as a varint. */
export function varintSize(value: number): number {
  let size = 1;
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) size++;
  return size;
}

/** The bytes of a field with a length, for field numbers below 16. */
export const fieldSize = (size: number): number => 1 + varintSize(size) + size;
