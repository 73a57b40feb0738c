import { FEED_LIMITS } from './limits.ts';

/** What kafkajs gives the decoder of a record: the record's bytes, and what its batch says. */
interface RecordBytes {
  readonly buffer: Buffer;
}

export interface BatchContext {
  readonly firstOffset: string;
  readonly firstTimestamp: string;
  readonly maxTimestamp: string;
  /** 1 where the broker has stamped the batch. */
  readonly timestampType: number;
  readonly magicByte: number;
  readonly isControlBatch?: boolean;
}

type HeaderValue = Buffer | string | null;
type RecordHeaders = Record<string, HeaderValue | HeaderValue[]>;

const LOG_APPEND_TIME = 1;

/**
 * A record (https://kafka.apache.org/documentation/#record), as kafkajs gives it on. Its own decoder makes all headers anew
 * with each further one.
 * @throws RangeError where its bytes do not hold what they say
 */
export const decodeRecord = ({ buffer }: RecordBytes, batchContext: BatchContext): DecodedRecord =>
  new DecodedRecord(buffer, batchContext);

/**
 * A fetch brings some ten thousand of them before the first is used: headers are made when they are asked for, so that those
 * of all do not stand in memory at once. They are text where they are UTF-8, and bytes otherwise.
 */
class DecodedRecord {
  readonly magicByte: number;
  readonly attributes: number;
  readonly offset: string;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly isControlRecord: boolean;
  readonly batchContext: BatchContext;
  readonly #buffer: Buffer;
  readonly #headersAt: number;

  constructor(buffer: Buffer, batchContext: BatchContext) {
    const reader = new RecordReader(buffer, 0);
    this.attributes = reader.byte();
    reader.varLong();
    this.offset = String(BigInt(batchContext.firstOffset) + BigInt(reader.varInt()));
    this.key = reader.bytes();
    this.value = reader.bytes();
    this.magicByte = batchContext.magicByte;
    this.isControlRecord = batchContext.isControlBatch ?? false;
    this.batchContext = batchContext;
    this.#buffer = buffer;
    this.#headersAt = reader.at;
    reader.passHeaders();
  }

  get timestamp(): string {
    const { firstTimestamp, maxTimestamp, timestampType } = this.batchContext;
    if (timestampType === LOG_APPEND_TIME && maxTimestamp !== '') return maxTimestamp;
    const delta = new RecordReader(this.#buffer, ATTRIBUTES_BYTES).varLong();
    return String(BigInt(firstTimestamp) + delta);
  }

  get headers(): RecordHeaders {
    return new RecordReader(this.#buffer, this.#headersAt).headers();
  }
}

const ATTRIBUTES_BYTES = 1;
const NOT_UTF8 = '\ufffd';
/** Whatever a header's name is: it is no property of anything else. */
const NO_HEADERS: object = Object.freeze(Object.create(null));

class RecordReader {
  readonly #buffer: Buffer;
  at: number;

  constructor(buffer: Buffer, at: number) {
    this.#buffer = buffer;
    this.at = at;
  }

  byte(): number {
    const byte = this.#buffer[this.at++];
    if (byte === undefined) throw new RangeError('a record ends before its last field');
    return byte;
  }

  bytes(): Buffer | null {
    const length = this.varInt();
    if (length < 0) return null;
    const start = this.#pass(length);
    return this.#buffer.subarray(start, this.at);
  }

  passHeaders(): void {
    for (let left = this.varInt() * 2; left > 0; left--) this.#pass(Math.max(0, this.varInt()));
  }

  headers(): RecordHeaders {
    const headers: RecordHeaders = Object.create(NO_HEADERS);
    const count = this.varInt();
    for (let index = 0; index < count; index++) {
      const name = this.#name(index);
      const value = this.#text();
      const before = headers[name];
      headers[name] = before === undefined ? value : Array.isArray(before) ? [...before, value] : [before, value];
    }
    return headers;
  }

  #name(index: number): string {
    const length = Math.max(0, this.varInt());
    return headerNames.at(index, this.#buffer, this.#pass(length), this.at);
  }

  /** What is no UTF-8 comes as its bytes, for whoever reads it to say so. */
  #text(): HeaderValue {
    const length = this.varInt();
    if (length < 0) return null;
    const start = this.#pass(length);
    const text = this.#buffer.toString('utf8', start, this.at);
    return text.includes(NOT_UTF8) ? this.#buffer.subarray(start, this.at) : text;
  }

  /** Where it began. */
  #pass(length: number): number {
    const start = this.at;
    this.at += length;
    if (this.at > this.#buffer.length) throw new RangeError('a record ends before its last field');
    return start;
  }

  /** Zigzag, seven bits a byte, the lowest first. */
  varInt(): number {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.byte();
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return (value >>> 1) ^ -(value & 1);
    }
    throw new RangeError('a number of a record is too long');
  }

  varLong(): bigint {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.byte();
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return (value >> 1n) ^ -(value & 1n);
    }
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
