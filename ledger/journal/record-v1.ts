import assert from 'node:assert/strict';
import { crc32 } from 'node:zlib';
import { type RequestId, requestId } from '../../contracts/ids.ts';

/**
 * Records of format version 1. Numbers are little-endian.
 *
 *     0        4            8      9
 *     │ CRC-32 │ body bytes │ kind │ body …
 *
 *     begin   1  request id (16), sequence (6), JSON text
 *     finish  2  request id (16), JSON text
 *     settle  3  request ids (16 each)
 *
 * The CRC goes over everything after itself and starts from the record's place (segment number and offset), so that
 * bytes which look like a record, in a text or in a copy from elsewhere, do not pass for one.
 */
export type JournalRecord =
  | { readonly kind: 'begin'; readonly requestId: RequestId; readonly sequence: number; readonly text: string }
  | { readonly kind: 'finish'; readonly requestId: RequestId; readonly text: string }
  | { readonly kind: 'settle'; readonly requestIds: readonly RequestId[] };

const FRAME_BYTES = 9;
const REQUEST_ID_BYTES = 16;
const SEQUENCE_BYTES = 6;
const KIND_BEGIN = 1;
const KIND_FINISH = 2;
const KIND_SETTLE = 3;

export const beginBytes = (textBytes: number): number => FRAME_BYTES + REQUEST_ID_BYTES + SEQUENCE_BYTES + textBytes;
export const finishBytes = (textBytes: number): number => FRAME_BYTES + REQUEST_ID_BYTES + textBytes;
export const settleBytes = (requests: number): number => FRAME_BYTES + REQUEST_ID_BYTES * requests;

/** Puts a record at `at` and returns where it ends. The record counts only once `putChecksum` has been called. */
export function putBegin(buffer: Buffer, at: number, id: RequestId, sequence: number, text: string): number {
  putRequestId(buffer, at + FRAME_BYTES, id);
  buffer.writeUIntLE(sequence, at + FRAME_BYTES + REQUEST_ID_BYTES, SEQUENCE_BYTES);
  const textAt = at + beginBytes(0);
  return putFrame(buffer, at, textAt + buffer.write(text, textAt, 'utf8'), KIND_BEGIN);
}

export function putFinish(buffer: Buffer, at: number, id: RequestId, text: string): number {
  putRequestId(buffer, at + FRAME_BYTES, id);
  const textAt = at + finishBytes(0);
  return putFrame(buffer, at, textAt + buffer.write(text, textAt, 'utf8'), KIND_FINISH);
}

/** Puts the index-th id of the settle record at `at`, which grows with each. Returns where the record ends. */
export function putSettled(buffer: Buffer, at: number, index: number, id: RequestId): number {
  putRequestId(buffer, at + settleBytes(index), id);
  return putFrame(buffer, at, at + settleBytes(index + 1), KIND_SETTLE);
}

/** Makes the record from `at` to `end` valid at this place of the file, and only there. */
export function putChecksum(buffer: Buffer, at: number, end: number, segment: number, offset: number): void {
  buffer.writeUInt32LE(crc32(buffer.subarray(at + 4, end), placeSeed(segment, offset)), at);
}

/** The length of the valid record at `at`, which stands at `offset` of its segment; null where there is none. */
export function checkedBytes(buffer: Buffer, at: number, segment: number, offset: number): number | null {
  if (at + FRAME_BYTES > buffer.length) return null;
  const bodyBytes = buffer.readUInt32LE(at + 4);
  const end = at + FRAME_BYTES + bodyBytes;
  if (end > buffer.length || !isPlausible(buffer[at + 8], bodyBytes)) return null;
  const sum = crc32(buffer.subarray(at + 4, end), placeSeed(segment, offset));
  return sum === buffer.readUInt32LE(at) ? end - at : null;
}

/** Reads the record from `at` to `end`, which `checkedBytes` has found valid. */
export function readRecord(buffer: Buffer, at: number, end: number): JournalRecord {
  const idAt = at + FRAME_BYTES;
  switch (buffer[at + 8]) {
    case KIND_BEGIN: {
      const sequence = buffer.readUIntLE(idAt + REQUEST_ID_BYTES, SEQUENCE_BYTES);
      const text = buffer.toString('utf8', at + beginBytes(0), end);
      return { kind: 'begin', requestId: requestIdAt(buffer, idAt), sequence, text };
    }
    case KIND_FINISH: {
      const text = buffer.toString('utf8', at + finishBytes(0), end);
      return { kind: 'finish', requestId: requestIdAt(buffer, idAt), text };
    }
    default: {
      const requestIds: RequestId[] = [];
      for (let from = idAt; from < end; from += REQUEST_ID_BYTES) requestIds.push(requestIdAt(buffer, from));
      return { kind: 'settle', requestIds };
    }
  }
}

function putFrame(buffer: Buffer, at: number, end: number, kind: number): number {
  buffer.writeUInt32LE(end - at - FRAME_BYTES, at + 4);
  buffer[at + 8] = kind;
  return end;
}

/** Whether a kind can have a body of this length. Cheap, so that a search through damage computes few sums. */
function isPlausible(kind: number | undefined, bodyBytes: number): boolean {
  switch (kind) {
    case KIND_BEGIN:
      return bodyBytes >= REQUEST_ID_BYTES + SEQUENCE_BYTES;
    case KIND_FINISH:
      return bodyBytes >= REQUEST_ID_BYTES;
    case KIND_SETTLE:
      return bodyBytes >= REQUEST_ID_BYTES && bodyBytes % REQUEST_ID_BYTES === 0;
    default:
      return false;
  }
}

/** Spreads the segment's number over all 32 bits (Knuth's multiplicative hash), so that close places differ. */
function placeSeed(segment: number, offset: number): number {
  return (Math.imul(segment, 0x9e37_79b1) ^ offset) >>> 0;
}

const REQUEST_ID_PATTERN = /^req_[0-9a-f]{32}$/;
const HEX_DIGITS = Uint8Array.from({ length: 128 }, (_, code) => Number.parseInt(String.fromCharCode(code), 16) || 0);

/** Digit by digit, because a call into the runtime for 16 bytes takes three times as long. */
function putRequestId(buffer: Buffer, at: number, id: RequestId): void {
  assert(REQUEST_ID_PATTERN.test(id), 'a request id is req_ and 32 lower-case hexadecimal digits');
  for (let index = 0; index < REQUEST_ID_BYTES; index++) {
    const high = HEX_DIGITS[id.charCodeAt(4 + 2 * index)] ?? 0;
    const low = HEX_DIGITS[id.charCodeAt(5 + 2 * index)] ?? 0;
    buffer[at + index] = (high << 4) | low;
  }
}

function requestIdAt(buffer: Buffer, at: number): RequestId {
  return requestId(`req_${buffer.toString('hex', at, at + REQUEST_ID_BYTES)}`);
}
