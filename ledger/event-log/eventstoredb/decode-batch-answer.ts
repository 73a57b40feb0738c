import protobuf, { type Reader } from 'protobufjs/minimal.js';
import type { Position } from '../../../contracts/ids.ts';
import { positionOf } from './log-position.ts';
import { endOf, exactNumber, lengthTag, numberTag, skip } from './wire-fields.ts';

/** What a server says of one append among many. */
export interface BatchAnswer {
  readonly correlation: number;
  readonly verdict:
    | { readonly type: 'success'; readonly lastRevision: number; readonly position: Position | null }
    /** -1 where there is no stream. */
    | { readonly type: 'wrong-expected-version'; readonly actualRevision: number }
    | { readonly type: 'refused'; readonly error: AppendRefusedError };
}

/** A server's refusal of one append, in the terms of fault.ts: the client's name for it, and a status of gRPC. */
class AppendRefusedError extends Error {
  override readonly name = 'AppendRefusedError';
  readonly type: string | null;
  readonly code: number | null;

  constructor(type: string | null, code: number | null, message: string) {
    super(message);
    this.type = type;
    this.code = code;
  }
}

/**
 *   BatchAppendResp { 1 correlation_id, 2 error | 3 success, 4 stream_identifier, … }
 *   Success { 1 current_revision, 3 position { 1 commit, 2 prepare } | 4 no_position {} }
 *
 * @throws Error for bytes that are no answer
 */
export function decodeBatchAnswer(bytes: Buffer): BatchAnswer {
  const reader = protobuf.Reader.create(bytes);
  const end = reader.len;
  let correlation = 0;
  let verdict: BatchAnswer['verdict'] | null = null;
  while (reader.pos < end) {
    const tag = reader.uint32();
    if (tag === lengthTag(1)) correlation = correlationOf(reader, endOf(reader));
    else if (tag === lengthTag(2)) verdict = errorOf(reader, endOf(reader));
    else if (tag === lengthTag(3)) verdict = successOf(reader, endOf(reader));
    else skip(reader, tag);
  }
  return { correlation, verdict: verdict ?? refused(null, null, 'EventStoreDB answered an append with nothing') };
}

/** UUID { 1 structured { 1 most, 2 least significant bits } | 2 text }: servers answer in either form. */
function correlationOf(reader: Reader, end: number): number {
  let correlation = 0;
  while (reader.pos < end) {
    const tag = reader.uint32();
    if (tag === lengthTag(1)) correlation = numbersOf(reader, endOf(reader), 2)[0] ?? 0;
    else if (tag === lengthTag(2)) correlation = Number.parseInt(reader.string().slice(-LEAST_HEX_CHARS), 16);
    else skip(reader, tag);
  }
  return correlation;
}

/** Of a UUID's text: as many as a number of ours can hold, behind the last hyphen. */
const LEAST_HEX_CHARS = 12;

function successOf(reader: Reader, end: number): BatchAnswer['verdict'] {
  // The first revision of a stream is 0, which the wire leaves out of numbers that may be left out.
  let lastRevision = 0;
  let position: Position | null = null;
  while (reader.pos < end) {
    const tag = reader.uint32();
    if (tag === numberTag(1)) lastRevision = exactNumber(reader);
    else if (tag === lengthTag(3)) {
      const [commit, prepare] = numbersOf(reader, endOf(reader), 1, 2);
      position = positionOf(commit ?? 0, prepare ?? 0);
    } else skip(reader, tag);
  }
  return { type: 'success', lastRevision, position };
}

/** google.rpc.Status { 1 code, 2 message, 3 details { 1 type's URL, 2 value } } */
function errorOf(reader: Reader, end: number): BatchAnswer['verdict'] {
  let message = '';
  let type = '';
  let value: Reader | null = null;
  while (reader.pos < end) {
    const tag = reader.uint32();
    if (tag === lengthTag(2)) message = reader.string();
    else if (tag === lengthTag(3)) [type, value] = detailsOf(reader, endOf(reader));
    else skip(reader, tag);
  }
  const name = type.slice(type.lastIndexOf('.') + 1);
  if (name === 'WrongExpectedVersion' && value !== null)
    // WrongExpectedVersion { 1 current_stream_revision | 2 current_no_stream {}, … }
    return { type: 'wrong-expected-version', actualRevision: numbersOf(value, value.len, 1)[0] ?? -1 };
  const [known, code] = REFUSALS[name] ?? [null, null];
  return refused(known, code, message === '' ? name : message);
}

function detailsOf(reader: Reader, end: number): [type: string, value: Reader | null] {
  let type = '';
  let value: Reader | null = null;
  while (reader.pos < end) {
    const tag = reader.uint32();
    if (tag === lengthTag(1)) type = reader.string();
    else if (tag === lengthTag(2)) value = protobuf.Reader.create(reader.bytes());
    else skip(reader, tag);
  }
  return [type, value];
}

/** The numbers that a message has in these fields, one for each; null where it has none. */
function numbersOf(reader: Reader, end: number, ...fields: readonly number[]): (number | null)[] {
  const numbers: (number | null)[] = fields.map(() => null);
  while (reader.pos < end) {
    const tag = reader.uint32();
    const index = fields.findIndex((field) => tag === numberTag(field));
    if (index >= 0) numbers[index] = exactNumber(reader);
    else skip(reader, tag);
  }
  return numbers;
}

const UNKNOWN = 2;
const ABORTED = 10;

/**
 * The server's messages of refusal, by the last part of their name (shared.proto), as the client's names and the statuses
 * that the plain call would have. What was not handled (too busy, not ready, no leader) has an empty one, and says it in words.
 */
const REFUSALS: Readonly<Record<string, readonly [type: string | null, code: number | null]>> = {
  StreamDeleted: ['stream-deleted', null],
  AccessDenied: ['access-denied', null],
  MaximumAppendSizeExceeded: ['maximum-append-size-exceeded', null],
  MaximumAppendEventSizeExceeded: ['maximum-append-size-exceeded', null],
  Timeout: ['timeout', ABORTED],
  BadRequest: ['bad-request', null],
  Unknown: [null, UNKNOWN],
};

const refused = (type: string | null, code: number | null, message: string): BatchAnswer['verdict'] => ({
  type: 'refused',
  error: new AppendRefusedError(type, code, message),
});
