import { READ_HEADERS, type ReceivedMessage } from '../../contracts/feed-message.ts';
import { FEED_LIMITS } from './limits.ts';

type Text = Buffer | string;
type RecordHeaders = Record<string, Text | null | (Text | null)[]>;

/** A record, with those of its headers that a reader of the feed looks at: text where it is UTF-8, and bytes otherwise. */
export interface FeedRecord extends ReceivedMessage {
  readonly offset: bigint;
}

/**
 * The records of a batch (https://kafka.apache.org/documentation/#record), decompressed.
 * @throws RangeError where the bytes do not hold what they say
 */
export function decodeRecords(buffer: Buffer, count: number, firstOffset: bigint): FeedRecord[] {
  const reader = new RecordReader(buffer);
  const records: FeedRecord[] = [];
  for (let index = 0; index < count; index++) records.push(reader.record(firstOffset));
  return records;
}

const NOT_UTF8 = '\ufffd';
/** Whatever a header's name is: it is no property of anything else. */
const NO_HEADERS: object = Object.freeze(Object.create(null));

class RecordReader {
  readonly #buffer: Buffer;
  #at = 0;
  /** Of the record. */
  #end: number;

  constructor(buffer: Buffer) {
    this.#buffer = buffer;
    this.#end = buffer.length;
  }

  record(firstOffset: bigint): FeedRecord {
    this.#end = this.#buffer.length;
    const length = this.#varInt();
    this.#end = this.#at + length;
    if (length < 0 || this.#end > this.#buffer.length) throw new RangeError('a record ends behind its batch');
    // Its attributes; nobody has given them a meaning.
    this.#pass(1);
    this.#passTime();
    const offset = firstOffset + BigInt(this.#varInt());
    const record = { offset, key: this.#text(), value: this.#text(), headers: this.#headers() };
    this.#at = this.#end;
    return record;
  }

  #headers(): RecordHeaders {
    const headers: RecordHeaders = Object.create(NO_HEADERS);
    const count = this.#varInt();
    for (let index = 0; index < count; index++) {
      const name = headerNames.at(index, this.#buffer, this.#pass(Math.max(0, this.#varInt())), this.#at);
      if (!READ_HEADERS.has(name)) {
        this.#pass(Math.max(0, this.#varInt()));
        continue;
      }
      const value = this.#text();
      const before = headers[name];
      // Two are one too many already: a message of a hundred thousand is told by them as well.
      if (!Array.isArray(before)) headers[name] = before === undefined ? value : [before, value];
    }
    return headers;
  }

  /** What is no UTF-8 comes as its bytes, for whoever reads it to say so. */
  #text(): Text | null {
    const length = this.#varInt();
    if (length < 0) return null;
    const start = this.#pass(length);
    const text = this.#buffer.toString('utf8', start, this.#at);
    return text.includes(NOT_UTF8) ? this.#buffer.subarray(start, this.#at) : text;
  }

  /** Where it began. */
  #pass(length: number): number {
    const start = this.#at;
    this.#at += length;
    if (this.#at > this.#end) throw new RangeError('a record ends before its last field');
    return start;
  }

  #byte(): number {
    return this.#buffer[this.#pass(1)] ?? 0;
  }

  /** Zigzag, seven bits a byte, the lowest first. */
  #varInt(): number {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.#byte();
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return (value >>> 1) ^ -(value & 1);
    }
    throw new RangeError('a number of a record is too long');
  }

  /** When it was written: the feed says that in a header of its own. */
  #passTime(): void {
    for (let bytes = 0; bytes < 10; bytes++) if (this.#byte() < 0x80) return;
    throw new RangeError('a number of a record is too long');
  }
}

/** The names of headers are the same with every record: a name that stands where it stood before is not made anew. */
class HeaderNames {
  readonly #known: { readonly text: string; readonly bytes: Buffer }[] = [];

  at(index: number, buffer: Buffer, start: number, end: number): string {
    const known = this.#known[index];
    if (known !== undefined && holds(buffer, start, end, known.bytes)) return known.text;
    const text = buffer.toString('utf8', start, end);
    const isKept = index < FEED_LIMITS.headerNamesKept && end - start <= FEED_LIMITS.headerNameBytesKept;
    if (isKept) this.#known[index] = { text, bytes: Buffer.from(buffer.subarray(start, end)) };
    return text;
  }
}

const headerNames = new HeaderNames();

function holds(buffer: Buffer, start: number, end: number, bytes: Buffer): boolean {
  if (end - start !== bytes.length) return false;
  for (let at = 0; at < bytes.length; at++) if (buffer[start + at] !== bytes[at]) return false;
  return true;
}
