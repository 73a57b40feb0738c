import { createRequire } from 'node:module';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { FEED_LIMITS } from '../../../ledger/feed/limits.ts';
import { encodeRecords } from '../../../ledger/feed/produce-request.ts';
import { type RecordBatch, recordBatches } from '../../../ledger/feed/record-batch.ts';
import { UnreadableTopicError } from '../../../ledger/feed/topic-settings.ts';
import { recordsOf } from '../../../ledger/feed/unreadable-message.ts';

const [NONE, GZIP, SNAPPY, ZSTD] = [0, 1, 2, 4];
const [IN_TRANSACTION, CONTROL] = [0x10, 0x20];
const PRODUCER = 7n;

interface BatchFields {
  readonly from: number;
  readonly values: readonly string[];
  readonly codec?: number;
  readonly flags?: number;
  /** Of a compacted batch, more than it has. */
  readonly lastOffsetDelta?: number;
}

/** https://kafka.apache.org/documentation/#recordbatch */
function batch({ from, values, codec = NONE, flags = 0, lastOffsetDelta = values.length - 1 }: BatchFields): Buffer {
  const records = encodeRecords(values.map((value) => ({ key: 'acct_1', value, headers: { ce_id: value } })));
  return batchOf(compressed(records, codec), {
    from,
    count: values.length,
    attributes: codec | flags,
    lastOffsetDelta,
  });
}

interface HeaderFields {
  readonly from: number;
  readonly count: number;
  readonly attributes: number;
  readonly lastOffsetDelta: number;
}

function batchOf(records: Buffer, { from, count, attributes, lastOffsetDelta }: HeaderFields): Buffer {
  const header = Buffer.alloc(61);
  header.writeBigInt64BE(BigInt(from), 0);
  header.writeInt32BE(header.length - 12 + records.length, 8);
  header.writeInt8(2, 16);
  header.writeInt16BE(attributes, 21);
  header.writeInt32BE(lastOffsetDelta, 23);
  header.writeBigInt64BE(PRODUCER, 43);
  header.writeInt32BE(count, 57);
  return Buffer.concat([header, records]);
}

function compressed(records: Buffer, codec: number): Buffer {
  if (codec === GZIP) return gzipSync(records);
  return codec === ZSTD ? zstdCompressSync(records) : records;
}

/** How a transaction has ended: the key is a version and 0 for one that was given up. */
const endOfTransaction = (from: number): Buffer =>
  batchOf(encodeRecords([{ key: Buffer.from([0, 0, 0, 0]), value: null }]), {
    from,
    count: 1,
    attributes: IN_TRANSACTION | CONTROL,
    lastOffsetDelta: 0,
  });

const OLD = batch({ from: 1, values: ['b'] }).fill(1, 16, 17);
const SHORT = batch({ from: 1, values: ['b'] });
SHORT.writeInt32BE(-12, 8);

async function read(batches: readonly RecordBatch[], from = 0n): Promise<string[]> {
  const all = await Promise.all(batches.map((one) => one.records(from)));
  return all.flat().map(({ offset, key, value, headers }) => `${offset} ${key} ${value} ${headers?.ce_id}`);
}

describe('batches of records', () => {
  it.each([
    ['as they are', NONE],
    ['gzip', GZIP],
    ['zstd', ZSTD],
  ])('give their records in order, each with its offset (%s)', async (_what, codec) => {
    const bytes = Buffer.concat([
      batch({ from: 5, values: ['a', 'b'], codec }),
      batch({ from: 7, values: ['c'], codec }),
    ]);
    expect(await read(recordBatches(bytes))).toEqual(['5 acct_1 a a', '6 acct_1 b b', '7 acct_1 c c']);
  });

  it.each([
    ['gzip', GZIP],
    ['zstd', ZSTD],
  ])('give those that are large, too (%s)', async (_what, codec) => {
    const value = crypto.getRandomValues(Buffer.alloc(FEED_LIMITS.decompressAtOnceBytes)).toString('latin1');
    const bytes = batch({ from: 0, values: [value], codec });
    expect(bytes.length).toBeGreaterThan(FEED_LIMITS.decompressAtOnceBytes);
    const [record] = (await recordBatches(bytes)[0]?.records(0n)) ?? [];
    expect(record?.value === value).toBe(true);
  });

  it('begin at the offset that was asked for, and end behind what they once held', async () => {
    const bytes = Buffer.concat([
      batch({ from: 0, values: ['a', 'b'] }),
      batch({ from: 2, values: ['c', 'd'], lastOffsetDelta: 6 }),
    ]);
    const batches = recordBatches(bytes);
    expect(await read(batches, 3n)).toEqual(['3 acct_1 d d']);
    expect(batches.map(({ nextOffset }) => nextOffset)).toEqual([2n, 9n]);
    expect(await read(batches, 9n)).toEqual([]);
  });

  it('leave what was cut off to the next fetch, wherever that was', async () => {
    const first = batch({ from: 0, values: ['a'] });
    const bytes = Buffer.concat([first, batch({ from: 1, values: ['b'] })]);
    for (let length = 0; length <= bytes.length; length++) {
      const whole = [first.length, bytes.length].filter((end) => end <= length).length;
      expect(recordBatches(bytes.subarray(0, length))).toHaveLength(whole);
    }
  });

  it('are decoded when their turn comes, and not before', async () => {
    const broken = batch({ from: 1, values: ['b'] }).fill(0xff, 61);
    const batches = recordBatches(Buffer.concat([batch({ from: 0, values: ['a'] }), broken]));
    expect(await read(batches.slice(0, 1))).toEqual(['0 acct_1 a a']);
    await expect(read(batches)).rejects.toThrow(RangeError);
  });

  it.each([
    ['gzip', GZIP, 0],
    ['zstd', ZSTD, 0],
    ['zstd, not small', ZSTD, FEED_LIMITS.decompressAtOnceBytes],
  ])('are refused where they decompress to more than any of ours (%s)', async (_what, codec, noiseBytes) => {
    const noise = crypto.getRandomValues(Buffer.alloc(noiseBytes));
    const zeros = Buffer.alloc(FEED_LIMITS.batchBytesMax + 1 - noise.length);
    const records = compressed(Buffer.concat([noise, zeros]), codec);
    const [bomb] = recordBatches(batchOf(records, { from: 0, count: 1, attributes: codec, lastOffsetDelta: 0 }));
    await expect(bomb?.records(0n)).rejects.toThrow('a batch decompresses to more than 134217728 bytes');
  });

  it('are refused where they cannot be decompressed', async () => {
    const broken = batch({ from: 0, values: ['a'], codec: GZIP }).fill(0xff, 61);
    await expect(read(recordBatches(broken))).rejects.toThrow(
      'a batch cannot be decompressed (incorrect header check)',
    );
  });

  it('keep two values of a header that stands more often, by which its message is told to be none of the feed’s', async () => {
    const records = encodeRecords([{ key: 'acct_1', value: '{}', headers: { ce_id: ['a', 'b', 'c', 'd'] } }]);
    const bytes = batchOf(records, { from: 0, count: 1, attributes: NONE, lastOffsetDelta: 0 });
    const [record] = (await recordBatches(bytes)[0]?.records(0n)) ?? [];
    expect(record?.headers).toEqual({ ce_id: ['a', 'b'] });
  });

  it.each([
    ['of an old format', OLD, 'a batch has the format 1'],
    ['none at all', SHORT, 'a batch is too short'],
    ['compressed otherwise', batch({ from: 1, values: ['b'], codec: SNAPPY }), 'a batch is compressed with codec 2'],
  ])('are refused, and their place is told, where they are %s', async (_what, bad, why) => {
    const [good, broken] = recordBatches(
      Buffer.concat([batch({ from: 0, values: ['a'] }), bad, batch({ from: 2, values: ['c'] })]),
    );
    if (good === undefined || broken === undefined) throw new Error('there are no two');
    expect(await read([good])).toEqual(['0 acct_1 a a']);
    const told = recordsOf(broken, { topic: 'ledger', partition: 7, offset: good.nextOffset });
    await expect(told).rejects.toThrow(UnreadableTopicError);
    await expect(told).rejects.toThrow(`ledger partition 7 offset 1: ${why}`);
  });
});

describe('to the driver, a batch', () => {
  const load = createRequire(import.meta.url);
  const Fetched = load('kafkajs/src/consumer/batch') as new (
    topic: string,
    from: string,
    partition: object,
  ) => { readonly messages: readonly RecordBatch[]; lastOffset(): string; isEmptyDueToFiltering(): boolean };
  const fetched = (from: number, abortedTransactions: readonly object[], ...batches: readonly Buffer[]) =>
    new Fetched('t', String(from), {
      partition: 0,
      highWatermark: '100',
      abortedTransactions,
      messages: recordBatches(Buffer.concat(batches)),
    });

  it('is one that it leaves out where all of it is from before', async () => {
    const batches = [batch({ from: 0, values: ['a', 'b'] }), batch({ from: 2, values: ['c', 'd'] })];
    expect(await read(fetched(3, [], ...batches).messages, 3n)).toEqual(['3 acct_1 d d']);
  });

  it('is none that it leaves out where it cannot be read, however far behind its beginning was asked for', async () => {
    for (const bad of [OLD, SHORT]) {
      const { messages } = fetched(3, [], bad);
      expect(messages).toHaveLength(1);
      await expect(read(messages, 3n)).rejects.toThrow(RangeError);
    }
  });

  it('is left out where its transaction was given up, and so are the brokers’ own marks', async () => {
    const given = [
      batch({ from: 0, values: ['lost'], flags: IN_TRANSACTION }),
      endOfTransaction(1),
      batch({ from: 2, values: ['kept'], flags: IN_TRANSACTION }),
      endOfTransaction(3),
    ];
    const aborted = [{ producerId: String(PRODUCER), firstOffset: '0' }];
    const all = fetched(0, aborted, ...given);
    expect(await read(all.messages)).toEqual(['2 acct_1 kept kept']);
    expect(all.lastOffset()).toBe('3');
    expect(fetched(0, aborted, ...given.slice(0, 2)).isEmptyDueToFiltering()).toBe(true);
    expect(await read(recordBatches(endOfTransaction(1)))).toEqual([]);
  });
});
