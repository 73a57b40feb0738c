import type { ProposedEvent } from '../../../contracts/event-log.ts';
import type { AppendOnServer } from './append-answer.ts';
import { fieldSize, ProtobufWriter, varintSize } from './protobuf-writer.ts';

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
  const structured = 1 + varintSize(correlation);
  const name = Buffer.byteLength(onServer);
  const place = expected === -1 ? fieldSize(0) : 1 + varintSize(expected);
  const options = fieldSize(fieldSize(name)) + place + DEADLINE.length;
  const messages = events.map(sizesOf);
  let size = fieldSize(fieldSize(structured)) + fieldSize(options) + IS_FINAL_SIZE;
  for (const message of messages) size += fieldSize(message.whole);

  const writer = new ProtobufWriter(size);
  writer.begin(1, fieldSize(structured));
  writer.begin(1, structured);
  writer.number(2, correlation);
  writer.begin(2, options);
  writer.begin(1, fieldSize(name));
  writer.text(3, onServer, name);
  if (expected === -1) writer.begin(3, 0);
  else writer.number(2, expected);
  writer.written(DEADLINE);
  for (const [index, event] of events.entries()) writeEvent(writer, event, messages[index] ?? sizesOf(event));
  writer.number(4, 1);
  return writer.done();
}

interface EventSizes {
  readonly type: number;
  readonly data: number;
  readonly metadata: number;
  readonly whole: number;
}

function sizesOf({ type, data, metadata }: ProposedEvent): EventSizes {
  const sizes = { type: Buffer.byteLength(type), data: Buffer.byteLength(data), metadata: Buffer.byteLength(metadata) };
  const fixed = fieldSize(fieldSize(UUID_CHARS)) + IS_JSON.length;
  const typeEntry = fieldSize(TYPE_KEY.length + fieldSize(sizes.type));
  return { ...sizes, whole: fixed + typeEntry + fieldSize(sizes.metadata) + fieldSize(sizes.data) };
}

function writeEvent(writer: ProtobufWriter, { id, type, data, metadata }: ProposedEvent, sizes: EventSizes): void {
  writer.begin(3, sizes.whole);
  writer.begin(1, fieldSize(UUID_CHARS));
  writer.text(2, id, UUID_CHARS);
  writer.begin(2, TYPE_KEY.length + fieldSize(sizes.type));
  writer.written(TYPE_KEY);
  writer.text(2, type, sizes.type);
  writer.written(IS_JSON);
  writer.text(3, metadata, sizes.metadata);
  writer.text(4, data, sizes.data);
}

const UUID_CHARS = 36;
const IS_FINAL_SIZE = 2;
/** A key of a map's entry. */
const TYPE_KEY = written(fieldSize(4), (writer) => writer.text(1, 'type', 4));
const IS_JSON = contentType('content-type', 'application/json');
/**
 * The last second of the year 9999: a deadline is a time of the client's clock, and one that is late would have every append
 * refused. The server gives an append up after its own 2 s, the adapter after `appendMs`. Servers of 21.10 ask for one.
 */
const NEVER_SECONDS = 253_402_300_799;
const DEADLINE = written(fieldSize(1 + varintSize(NEVER_SECONDS)), (writer) => {
  writer.begin(6, 1 + varintSize(NEVER_SECONDS));
  writer.number(1, NEVER_SECONDS);
});

function contentType(key: string, value: string): Buffer {
  const entry = fieldSize(key.length) + fieldSize(value.length);
  return written(fieldSize(entry), (writer) => {
    writer.begin(2, entry);
    writer.text(1, key, key.length);
    writer.text(2, value, value.length);
  });
}

function written(size: number, write: (writer: ProtobufWriter) => void): Buffer {
  const writer = new ProtobufWriter(size);
  write(writer);
  return writer.done();
}
