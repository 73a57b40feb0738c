import protobuf, { type Reader } from 'protobufjs/minimal.js';
import { endOf, lengthTag, numberTag, roughNumber, skip } from './wire-fields.ts';

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
 * @throws Error for bytes that are none
 */
export function decodeReadResponse(bytes: Buffer): ReadResponse {
  const reader = protobuf.Reader.create(bytes);
  let response = NOTHING;
  while (reader.pos < reader.len) {
    const tag = reader.uint32();
    if (tag === lengthTag(1)) response = { ...NOTHING, event: readEventOf(reader, endOf(reader)) };
    else if (tag === lengthTag(3)) response = { ...NOTHING, checkpoint: firstNumberOf(reader, endOf(reader)) };
    else {
      skip(reader, tag);
      if (tag === lengthTag(2)) response = CONFIRMATION;
      if (tag === lengthTag(8)) response = CAUGHT_UP;
    }
  }
  return response;
}

/** Null where the event of a link is gone: links are not followed, and nobody of ours writes any. */
function readEventOf(reader: Reader, end: number): WireEvent | null {
  let event: WireEvent | null = null;
  while (reader.pos < end) {
    const tag = reader.uint32();
    if (tag === lengthTag(1)) event = eventOf(reader, endOf(reader));
    else skip(reader, tag);
  }
  return event;
}

/** 1 id, 2 stream_identifier, 3 stream_revision, 5 commit_position, 6 metadata { 1 key, 2 value }…, 8 data */
function eventOf(reader: Reader, end: number): WireEvent {
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
  while (reader.pos < end) {
    const tag = reader.uint32();
    if (tag === lengthTag(1)) of.id = textOf(reader, endOf(reader), lengthTag(2));
    else if (tag === lengthTag(2)) of.stream = textOf(reader, endOf(reader), lengthTag(3));
    else if (tag === numberTag(3)) of.revision = roughNumber(reader);
    else if (tag === numberTag(4)) of.prepare = roughNumber(reader);
    else if (tag === numberTag(5)) of.commit = roughNumber(reader);
    else if (tag === lengthTag(6)) takeEntry(reader, endOf(reader), of);
    else if (tag === lengthTag(7)) of.metadata = bytesOf(reader);
    else if (tag === lengthTag(8)) of.data = bytesOf(reader);
    else skip(reader, tag);
  }
  return of;
}

function takeEntry(reader: Reader, end: number, of: Mutable<WireEvent>): void {
  let key = '';
  let value = '';
  while (reader.pos < end) {
    const tag = reader.uint32();
    if (tag === lengthTag(1)) key = reader.string();
    else if (tag === lengthTag(2)) value = reader.string();
    else skip(reader, tag);
  }
  if (key === 'type') of.type = value;
  else if (key === 'content-type') of.contentType = value;
  else if (key === 'created') of.created = value;
}

function textOf(reader: Reader, end: number, wanted: number): string {
  let text = '';
  while (reader.pos < end) {
    const tag = reader.uint32();
    if (tag === wanted) text = reader.string();
    else skip(reader, tag);
  }
  return text;
}

function firstNumberOf(reader: Reader, end: number): number {
  let value = 0;
  while (reader.pos < end) {
    const tag = reader.uint32();
    if (tag === numberTag(1)) value = roughNumber(reader);
    else skip(reader, tag);
  }
  return value;
}

/** A view of them, no copy: what is read from a Buffer is one. */
const bytesOf = (reader: Reader): Buffer => reader.bytes() as Buffer;

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

const NO_BYTES: Buffer = Buffer.alloc(0);
