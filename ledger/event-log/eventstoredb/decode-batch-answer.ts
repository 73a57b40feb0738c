import type { Position } from '../../../contracts/ids.ts';
import { positionOf } from './log-position.ts';
import { ProtobufReader } from './protobuf-reader.ts';

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
export class AppendRefusedError extends Error {
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
 * @throws AssertionError for bytes that are no answer
 */
export function decodeBatchAnswer(bytes: Buffer): BatchAnswer {
  const reader = new ProtobufReader(bytes);
  let correlation = 0;
  let verdict: BatchAnswer['verdict'] | null = null;
  for (let field = reader.next(); field !== 0; field = reader.next())
    if (field === 1) correlation = correlationOf(reader.message());
    else if (field === 2) verdict = errorOf(reader.message());
    else if (field === 3) verdict = successOf(reader.message());
    else reader.skip();
  return { correlation, verdict: verdict ?? refused(null, null, 'EventStoreDB answered an append with nothing') };
}

/** UUID { 1 structured { 1 most, 2 least significant bits } | 2 text }: servers answer in either form. */
function correlationOf(reader: ProtobufReader): number {
  let correlation = 0;
  for (let field = reader.next(); field !== 0; field = reader.next())
    if (field === 1) correlation = leastBitsOf(reader.message());
    else if (field === 2) correlation = Number.parseInt(reader.text().slice(-LEAST_HEX_CHARS), 16);
    else reader.skip();
  return correlation;
}

/** Of a UUID's text: as many as a number of ours can hold, behind the last hyphen. */
const LEAST_HEX_CHARS = 12;

function leastBitsOf(reader: ProtobufReader): number {
  let least = 0;
  for (let field = reader.next(); field !== 0; field = reader.next())
    if (field === 2) least = reader.number();
    else reader.skip();
  return least;
}

function successOf(reader: ProtobufReader): BatchAnswer['verdict'] {
  // The first revision of a stream is 0, which the wire leaves out of numbers that may be left out.
  let lastRevision = 0;
  let position: Position | null = null;
  for (let field = reader.next(); field !== 0; field = reader.next())
    if (field === 1) lastRevision = reader.number();
    else if (field === 3) position = placeOf(reader.message());
    else reader.skip();
  return { type: 'success', lastRevision, position };
}

function placeOf(reader: ProtobufReader): Position {
  let commit = 0;
  let prepare = 0;
  for (let field = reader.next(); field !== 0; field = reader.next())
    if (field === 1) commit = reader.number();
    else if (field === 2) prepare = reader.number();
    else reader.skip();
  return positionOf(commit, prepare);
}

/** google.rpc.Status { 1 code, 2 message, 3 details { 1 type's URL, 2 value } } */
function errorOf(reader: ProtobufReader): BatchAnswer['verdict'] {
  let message = '';
  let type = '';
  let value: ProtobufReader | null = null;
  for (let field = reader.next(); field !== 0; field = reader.next())
    if (field === 2) message = reader.text();
    else if (field === 3) [type, value] = detailsOf(reader.message());
    else reader.skip();
  const name = type.slice(type.lastIndexOf('.') + 1);
  if (name === 'WrongExpectedVersion' && value !== null)
    return { type: 'wrong-expected-version', actualRevision: currentOf(value) };
  const [known, code] = REFUSALS[name] ?? [null, null];
  return refused(known, code, message === '' ? name : message);
}

function detailsOf(reader: ProtobufReader): [type: string, value: ProtobufReader | null] {
  let type = '';
  let value: ProtobufReader | null = null;
  for (let field = reader.next(); field !== 0; field = reader.next())
    if (field === 1) type = reader.text();
    else if (field === 2) value = reader.message();
    else reader.skip();
  return [type, value];
}

/** WrongExpectedVersion { 1 current_stream_revision | 2 current_no_stream {}, … } */
function currentOf(reader: ProtobufReader): number {
  let current = -1;
  for (let field = reader.next(); field !== 0; field = reader.next())
    if (field === 1) current = reader.number();
    else reader.skip();
  return current;
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
