import protobuf, { type Writer } from 'protobufjs/minimal.js';
import type { ProposedEvent } from '../../../contracts/event-log.ts';
import type { AppendOnServer } from './append-answer.ts';
import { lengthTag, numberTag } from './wire-fields.ts';

/**
 * One append as a message of its own, so that it is written whole or not at all.
 *
 *   BatchAppendReq { 1 correlation_id, 2 options, 3 proposed_messages…, 4 is_final }
 *   Options { 1 stream_identifier { 3 name }, 2 stream_position | 3 no_stream {}, 6 deadline { 1 seconds } }
 *   ProposedMessage { 1 id { 2 text }, 2 metadata { 1 key, 2 value }…, 3 custom_metadata, 4 data }
 *
 * @param correlation a number by which the answer is known, above 0
 */
export function encodeBatchAppend(correlation: number, { onServer, expected, events }: AppendOnServer): Buffer {
  const writer = new protobuf.BufferWriter();
  begin(begin(writer, 1), 1);
  writer.uint32(numberTag(2)).uint64(correlation).ldelim().ldelim();
  begin(begin(writer, 2), 1);
  text(writer, 3, onServer).ldelim();
  if (expected === -1) begin(writer, 3).ldelim();
  else writer.uint32(numberTag(2)).uint64(expected);
  begin(writer, 6).uint32(numberTag(1)).uint64(NEVER_SECONDS).ldelim().ldelim();
  for (const event of events) writeEvent(writer, event);
  writer.uint32(numberTag(4)).bool(true);
  // A Buffer, of which the library has a type of its own.
  return writer.finish() as Uint8Array as Buffer;
}

function writeEvent(writer: Writer, { id, type, data, metadata }: ProposedEvent): void {
  begin(writer, 3);
  text(begin(writer, 1), 2, id).ldelim();
  writeEntry(writer, 'type', type);
  writeEntry(writer, 'content-type', 'application/json');
  text(writer, 3, metadata);
  text(writer, 4, data).ldelim();
}

/** Of the map that is the message's field 2. */
function writeEntry(writer: Writer, key: string, value: string): void {
  text(text(begin(writer, 2), 1, key), 2, value).ldelim();
}

/** A message within the one that is written, up to its `ldelim`. */
const begin = (writer: Writer, field: number): Writer => writer.uint32(lengthTag(field)).fork();

const text = (writer: Writer, field: number, value: string): Writer => writer.uint32(lengthTag(field)).string(value);

/**
 * The last second of the year 9999: a deadline is a time of the client's clock, and one that is late would have every append
 * refused. The server gives an append up after its own 2 s, the adapter after `appendMs`. Servers of 21.10 ask for one.
 */
const NEVER_SECONDS = 253_402_300_799;
