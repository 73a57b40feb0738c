/** What kafkajs gives the decoder of a record: the record's bytes, and what its batch says. */
export interface RecordBytes {
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

const LOG_APPEND_TIME = 1;

/**
 * A record (https://kafka.apache.org/documentation/#record), as kafkajs gives it on. Its own decoder makes all headers anew
 * with each further one.
 */
export function decodeRecord({ buffer }: RecordBytes, batchContext: BatchContext): object {
  const reader = new RecordReader(buffer);
  const attributes = reader.byte();
  const timestampDelta = reader.varLong();
  const { firstTimestamp, maxTimestamp, timestampType, firstOffset, magicByte, isControlBatch = false } = batchContext;
  const isStamped = timestampType === LOG_APPEND_TIME && maxTimestamp !== '';
  return {
    magicByte,
    attributes,
    timestamp: isStamped ? maxTimestamp : String(BigInt(firstTimestamp) + timestampDelta),
    offset: String(BigInt(firstOffset) + BigInt(reader.varInt())),
    key: reader.bytes(),
    value: reader.bytes(),
    headers: reader.headers(),
    isControlRecord: isControlBatch,
    batchContext,
  };
}

type Headers = Record<string, Buffer | null | (Buffer | null)[]>;

class RecordReader {
  readonly #buffer: Buffer;
  #at = 0;

  constructor(buffer: Buffer) {
    this.#buffer = buffer;
  }

  byte(): number {
    const byte = this.#buffer[this.#at++];
    if (byte === undefined) throw new RangeError('a record ends before its last field');
    return byte;
  }

  bytes(): Buffer | null {
    const length = this.varInt();
    if (length < 0) return null;
    const start = this.#at;
    this.#at += length;
    if (this.#at > this.#buffer.length) throw new RangeError('a record ends before its last field');
    return this.#buffer.subarray(start, this.#at);
  }

  headers(): Headers {
    // Whatever a name is: it is no property of anything else.
    const headers: Headers = Object.create(null);
    for (let left = this.varInt(); left > 0; left--) {
      const name = this.bytes()?.toString('utf8') ?? 'null';
      const value = this.bytes();
      const before = headers[name];
      headers[name] = before === undefined ? value : Array.isArray(before) ? [...before, value] : [before, value];
    }
    return headers;
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
