import assert from 'node:assert/strict';
import type { Reader } from 'protobufjs/minimal.js';

/**
 * What stands before a field of a message in the wire format of Protocol Buffers: its number, and whether a length follows
 * (text, bytes, a message) or a number. Who reads compares the whole of it: a field of another kind is one that nobody knows.
 */
export const lengthTag = (field: number): number => field * 8 + 2;
export const numberTag = (field: number): number => field * 8;

/** Where the message ends whose length is next. Of one that is cut, whoever reads to its end meets the end of the bytes. */
export function endOf(reader: Reader): number {
  const size = reader.uint32();
  return reader.pos + size;
}

export function skip(reader: Reader, tag: number): void {
  reader.skipType(tag % 8);
}

/** A number of up to 64 bits; above 2^53 it is not exact. */
export function roughNumber(reader: Reader): number {
  const { low, high } = reader.uint64();
  return (high >>> 0) * 2 ** 32 + (low >>> 0);
}

/** @throws AssertionError above 2^53 */
export function exactNumber(reader: Reader): number {
  const value = roughNumber(reader);
  assert(value <= Number.MAX_SAFE_INTEGER, 'a number is below 2^53');
  return value;
}
