import { promisify } from 'node:util';
import { gunzip, gunzipSync, type ZlibOptions, zstdDecompress, zstdDecompressSync } from 'node:zlib';
import { FEED_LIMITS } from './limits.ts';
import { decodeRecords, type FeedRecord } from './record-decoder.ts';

/**
 * Decompressed and decoded when its turn comes: ten thousand events that stand in memory before the first is used cost the
 * collector as much again as it costs to decode them. To the driver it is one message, its last, of which it knows whether
 * it is behind the offset that was asked for, a mark of its own, or of a transaction that was given up.
 */
export interface RecordBatch {
  readonly nextOffset: bigint;
  readonly offset: string;
  readonly isControlRecord: boolean;
  readonly batchContext: { readonly producerId: string; readonly inTransaction: boolean };
  /** Whether a transaction ends here, and how. */
  readonly key: Buffer | null;
  /** From an offset on; none where the brokers have left a mark for themselves. @throws RangeError where they cannot be read */
  records(from: bigint): Promise<FeedRecord[]>;
}

/**
 * The batches that a fetch has brought of one partition, as they came. A broker cuts off where its answer is full: what is
 * left of a last one comes again with the next fetch. Bytes that are no batch, or one of before there were headers, are told
 * when it is their turn to be read, by whoever knows where they stand; what is behind them cannot be told apart.
 */
export function recordBatches(bytes: Buffer): RecordBatch[] {
  const batches: RecordBatch[] = [];
  for (let at = 0; at + FORMAT_AT < bytes.length; ) {
    if (bytes[at + FORMAT_AT] !== FORMAT)
      return [...batches, brokenBatch(`a batch has the format ${bytes[at + FORMAT_AT]}`)];
    const length = LENGTH_END + bytes.readInt32BE(at + LENGTH_AT);
    if (length < HEADER_BYTES) return [...batches, brokenBatch('a batch is too short')];
    if (at + length > bytes.length) break;
    batches.push(new WholeBatch(bytes.subarray(at, at + length)));
    at += length;
  }
  return batches;
}

/** Behind every offset that may be asked for: the driver would leave it out otherwise, and go on behind it. */
const brokenBatch = (fault: string): RecordBatch => ({
  nextOffset: OFFSET_MAX,
  offset: String(OFFSET_MAX),
  isControlRecord: false,
  batchContext: { producerId: '-1', inTransaction: false },
  key: null,
  records: () => Promise.reject(new RangeError(fault)),
});

// https://kafka.apache.org/documentation/#recordbatch
const LENGTH_AT = 8;
const LENGTH_END = 12;
const FORMAT_AT = 16;
const ATTRIBUTES_AT = 21;
const LAST_OFFSET_DELTA_AT = 23;
const PRODUCER_ID_AT = 43;
const COUNT_AT = 57;
const HEADER_BYTES = 61;

const FORMAT = 2;
const CODEC = 0b111;
const IN_TRANSACTION = 0x10;
const CONTROL = 0x20;
const OFFSET_MAX = 2n ** 63n - 1n;

class WholeBatch implements RecordBatch {
  readonly nextOffset: bigint;
  readonly offset: string;
  readonly isControlRecord: boolean;
  readonly batchContext: { readonly producerId: string; readonly inTransaction: boolean };
  readonly #bytes: Buffer;
  readonly #firstOffset: bigint;
  readonly #attributes: number;

  constructor(bytes: Buffer) {
    const lastOffset = bytes.readBigInt64BE(0) + BigInt(bytes.readInt32BE(LAST_OFFSET_DELTA_AT));
    this.#bytes = bytes;
    this.#firstOffset = bytes.readBigInt64BE(0);
    this.#attributes = bytes.readInt16BE(ATTRIBUTES_AT);
    this.nextOffset = lastOffset + 1n;
    this.offset = String(lastOffset);
    this.isControlRecord = (this.#attributes & CONTROL) !== 0;
    this.batchContext = {
      producerId: String(bytes.readBigInt64BE(PRODUCER_ID_AT)),
      inTransaction: (this.#attributes & IN_TRANSACTION) !== 0,
    };
  }

  get key(): Buffer | null {
    const [mark] = this.isControlRecord ? this.#decode(this.#bytes.subarray(HEADER_BYTES)) : [];
    return mark?.key == null ? null : Buffer.from(mark.key);
  }

  async records(from: bigint): Promise<FeedRecord[]> {
    if (this.isControlRecord) return [];
    const all = this.#decode(await decompressed(this.#bytes.subarray(HEADER_BYTES), this.#attributes & CODEC));
    return this.#firstOffset >= from ? all : all.filter(({ offset }) => offset >= from);
  }

  #decode(bytes: Buffer): FeedRecord[] {
    return decodeRecords(bytes, this.#bytes.readInt32BE(COUNT_AT), this.#firstOffset);
  }
}

const [GZIP, ZSTD] = [1, 4];
const gunzipAside = promisify(gunzip);
const zstdAside = promisify(zstdDecompress);

/** A small batch takes less time than it takes to have another thread do it. @throws RangeError */
async function decompressed(bytes: Buffer, codec: number): Promise<Buffer> {
  if (codec === 0) return bytes;
  if (codec !== GZIP && codec !== ZSTD)
    throw new RangeError(`a batch is compressed with codec ${codec}, which is neither gzip nor zstd`);
  const isSmall = bytes.length <= FEED_LIMITS.decompressAtOnceBytes;
  try {
    if (codec === GZIP) return isSmall ? gunzipSync(bytes, inOnePiece(bytes)) : await gunzipAside(bytes, BOUND);
    return isSmall ? zstdDecompressSync(bytes, BOUND) : await zstdAside(bytes, BOUND);
  } catch (error) {
    throw new RangeError(reasonOf(error), { cause: error });
  }
}

const BOUND = { maxOutputLength: FEED_LIMITS.batchBytesMax };

const reasonOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE'
    ? `a batch decompresses to more than ${BOUND.maxOutputLength} bytes`
    : `a batch cannot be decompressed (${error instanceof Error ? error.message : error})`;

/** Gzip ends with the size of what it holds. */
function inOnePiece(bytes: Buffer): ZlibOptions {
  const size = bytes.length < 4 ? 0 : bytes.readUInt32LE(bytes.length - 4);
  return size < FEED_LIMITS.decompressedBytes ? { ...BOUND, chunkSize: Math.max(64, size + 1) } : BOUND;
}
