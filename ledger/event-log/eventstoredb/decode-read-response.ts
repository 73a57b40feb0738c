import { ProtobufReader } from './protobuf-reader.ts';

/** An event as the server sends it, with what of it is asked for. Numbers are not exact above 2^53. */
export interface WireEvent {
  readonly id: string;
  /** Its name on the server. */
  readonly stream: string;
  readonly revision: number;
  readonly commit: number;
  readonly prepare: number;
  readonly type: string;
  readonly contentType: string;
  /** When the server took it, in ticks of 100 ns since 1970; empty where it does not say. */
  readonly created: string;
  readonly data: Buffer;
  readonly metadata: Buffer;
}

export interface ReadResponse {
  readonly event: WireEvent | null;
  /** The commit position of a filtered subscription's checkpoint. */
  readonly checkpoint: number | null;
  readonly isConfirmation: boolean;
  readonly isCaughtUp: boolean;
}

const NOTHING: ReadResponse = {
  event: null,
  checkpoint: null,
  isConfirmation: false,
  isCaughtUp: false,
};
const CONFIRMATION: ReadResponse = { ...NOTHING, isConfirmation: true };
const CAUGHT_UP: ReadResponse = { ...NOTHING, isCaughtUp: true };

/**
 * One message of a read or a subscription: each of them is one thing, and of most of them nothing is asked. By the generated code of the client an event costs
 * several times as much, and each proxy reads the events of all.
 *
 *   ReadResp { 1 event { 1 event | 2 link } | 2 confirmation | 3 checkpoint { 1 commit } | 8 caught_up | … }
 *
 * @throws AssertionError for bytes that are none
 */
export function decodeReadResponse(bytes: Buffer): ReadResponse {
  const reader = new ProtobufReader(bytes);
  let response = NOTHING;
  for (let field = reader.next(); field !== 0; field = reader.next())
    if (field === 1) response = { ...NOTHING, event: readEventOf(reader.message()) };
    else {
      if (field === 3) response = { ...NOTHING, checkpoint: firstNumberOf(reader.message()) };
      else reader.skip();
      if (field === 2) response = CONFIRMATION;
      if (field === 8) response = CAUGHT_UP;
    }
  return response;
}

/** Null where the event of a link is gone: links are not followed, and nobody of ours writes any. */
function readEventOf(reader: ProtobufReader): WireEvent | null {
  let event: WireEvent | null = null;
  for (let field = reader.next(); field !== 0; field = reader.next())
    if (field === 1) event = eventOf(reader.message());
    else reader.skip();
  return event;
}

/**
 *   RecordedEvent { 1 id, 2 stream_identifier, 3 stream_revision, 4 prepare_position, 5 commit_position,
 *                   6 metadata { 1 key, 2 value }…, 7 custom_metadata, 8 data }
 */
function eventOf(reader: ProtobufReader): WireEvent {
  const of: Mutable<WireEvent> = {
    id: '',
    stream: '',
    revision: 0,
    commit: 0,
    prepare: 0,
    type: '',
    contentType: '',
    created: '',
    data: NO_BYTES,
    metadata: NO_BYTES,
  };
  for (let field = reader.next(); field !== 0; field = reader.next())
    if (field === 1) of.id = textOf(reader.message(), 2);
    else if (field === 2) of.stream = textOf(reader.message(), 3);
    else if (field === 3) of.revision = reader.roughNumber();
    else if (field === 4) of.prepare = reader.roughNumber();
    else if (field === 5) of.commit = reader.roughNumber();
    else if (field === 6) takeEntry(reader.message(), of);
    else if (field === 7) of.metadata = reader.bytes();
    else if (field === 8) of.data = reader.bytes();
    else reader.skip();
  return of;
}

function takeEntry(reader: ProtobufReader, of: Mutable<WireEvent>): void {
  let key = '';
  let value = '';
  for (let field = reader.next(); field !== 0; field = reader.next())
    if (field === 1) key = reader.text();
    else if (field === 2) value = reader.text();
    else reader.skip();
  if (key === 'type') of.type = value;
  else if (key === 'content-type') of.contentType = value;
  else if (key === 'created') of.created = value;
}

function textOf(reader: ProtobufReader, wanted: number): string {
  let text = '';
  for (let field = reader.next(); field !== 0; field = reader.next())
    if (field === wanted) text = reader.text();
    else reader.skip();
  return text;
}

function firstNumberOf(reader: ProtobufReader): number {
  let value = 0;
  for (let field = reader.next(); field !== 0; field = reader.next())
    if (field === 1) value = reader.roughNumber();
    else reader.skip();
  return value;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

const NO_BYTES: Buffer = Buffer.alloc(0);
