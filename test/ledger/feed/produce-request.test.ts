import { createRequire } from 'node:module';
import { zstdDecompressSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { murmur2, partitionOfKey } from '../../../ledger/feed/murmur2.ts';
import {
  type Encoded,
  encodeProduce,
  encodeRecords,
  isPlain,
  type MessageFields,
  type ProduceFields,
  type ProduceParts,
} from '../../../ledger/feed/produce-request.ts';
import { decodeRecords } from '../../../ledger/feed/record-decoder.ts';
import { registerZstd } from '../../../ledger/feed/zstd-codec.ts';

const load = createRequire(import.meta.url);
const { lookupCodec } = load('kafkajs/src/protocol/message/compression') as {
  lookupCodec(type: number): { compress(encoder: { buffer: Buffer }): Promise<Buffer> };
};
const parts: ProduceParts = {
  crc32c: load('kafkajs/src/protocol/recordBatch/crc32C') as ProduceParts['crc32c'],
  compress: (type, buffer) => lookupCodec(type).compress({ buffer }),
};
/** Requests with times are left to the driver's own encoder, also where ours stands in its place. */
const driver = load('kafkajs/src/protocol/requests/produce/v3/request') as (fields: ProduceFields) => {
  encode(): Promise<Encoded>;
};

const NOW_MS = 1_800_000_000_000;
const text = fc.oneof(fc.string({ unit: 'binary', maxLength: 200 }), fc.constant('é'.repeat(5_000)));
const bytes = fc.uint8Array({ maxLength: 100 }).map((array) => Buffer.from(array));
const message: fc.Arbitrary<MessageFields> = fc.record({
  key: fc.option(text),
  value: fc.option(fc.oneof(text, bytes)),
  headers: fc.dictionary(text, fc.oneof(text, bytes, fc.array(text, { maxLength: 3 })), { maxKeys: 4 }),
});
const partitions = fc.array(
  fc.record({
    partition: fc.nat(1_000),
    firstSequence: fc.constant(0),
    messages: fc.array(message, { minLength: 1, maxLength: 66 }),
  }),
  { minLength: 1, maxLength: 3 },
);

function fieldsOf(compression: number, topicData: ProduceFields['topicData']): ProduceFields {
  return {
    acks: -1,
    timeout: 600_000,
    transactionalId: null,
    producerId: -1,
    producerEpoch: 0,
    compression,
    topicData,
  };
}

const withTimes = (fields: ProduceFields): ProduceFields => ({
  ...fields,
  topicData: fields.topicData.map(({ topic, partitions: all }) => ({
    topic,
    partitions: all.map((one) => ({
      ...one,
      messages: one.messages.map((each) => ({ ...each, timestamp: String(NOW_MS) })),
    })),
  })),
});

describe('a Produce request', () => {
  it.each([
    ['as it is', 0],
    ['gzip', 1],
  ])('is what the driver makes of it, to the byte (%s)', async (_what, compression) => {
    await fc.assert(
      fc.asyncProperty(partitions, async (all) => {
        const fields = fieldsOf(compression, [{ topic: 'ledger', partitions: all }]);
        const theirs = await driver(withTimes(fields)).encode();
        const ours = await encodeProduce(fields, parts, NOW_MS);
        expect(ours.buffer.equals(theirs.buffer)).toBe(true);
        expect(ours.size()).toBe(theirs.size());
      }),
      { numRuns: 10 },
    );
  });

  it('has its records in zstd where that is asked for', async () => {
    registerZstd();
    const messages = [{ key: 'acct_1', value: '{}'.repeat(1_000), headers: { ce_id: '1' } }];
    const fields = fieldsOf(4, [{ topic: 't', partitions: [{ partition: 0, messages }] }]);
    const { buffer } = await encodeProduce(fields, parts, NOW_MS);
    const magicAt = buffer.indexOf(Buffer.from('28b52ffd', 'hex'));
    expect(buffer.readInt16BE(magicAt - 40) & 7).toBe(4);
    expect(zstdDecompressSync(buffer.subarray(magicAt)).equals(encodeRecords(messages))).toBe(true);
  });

  it('is left to the driver where it has a transaction, a producer’s sequence or times of its own', () => {
    const topicData = [{ topic: 't', partitions: [{ partition: 0, messages: [{ value: 'x' }] }] }];
    const plain = fieldsOf(0, topicData);
    expect(isPlain(plain)).toBe(true);
    expect(isPlain({ ...plain, transactionalId: 'x' })).toBe(false);
    expect(isPlain({ ...plain, producerId: '7' })).toBe(false);
    expect(isPlain(withTimes(plain))).toBe(false);
  });
});

describe('a record', () => {
  const FIRST_OFFSET = 9_007_199_254_740_993n;
  const read = (bytes: Buffer) => {
    const [record] = decodeRecords(bytes, 1, FIRST_OFFSET);
    if (record === undefined) throw new Error('no record');
    return record;
  };

  it('is read as it was written, but for the headers that no reader looks at', () => {
    const headers = { ce_id: 'a', ce_type: ['b', 'c'], ce_stream: '', ce_ledger: 'e' };
    const others = { first: 'f', ...headers, ['__proto__']: 'g', ce_source: 'h' };
    const record = read(encodeRecords([{ key: 'acct_é', value: Buffer.from([0, 255]), headers: others }]));
    expect(record).toMatchObject({ offset: FIRST_OFFSET, key: 'acct_é', value: Buffer.from([0, 255]) });
    expect(Object.entries(record.headers ?? {})).toEqual(Object.entries(headers));
  });

  it('has the bytes of a header that is no text, and knows its headers by their names, wherever they stand', () => {
    const first = { ce_id: 'a', ce_type: Buffer.from([0xff, 0x61]), ce_stream: '\ufeff', ce_ledger: '\ufffd' };
    const second = { ce_type: 'a', ce_id: 'b', ce_streaM: 'c', ce_ledger: 'd' };
    for (const headers of [first, second, first, Object.fromEntries(Object.entries(first).toReversed())]) {
      const decoded = read(encodeRecords([{ key: null, value: null, headers }])).headers ?? {};
      const text = (value: unknown): unknown => (value instanceof Buffer ? value.toString('latin1') : value);
      const { ce_streaM: _, ...looked } = { ce_streaM: '', ...headers };
      expect(Object.keys(decoded)).toEqual(Object.keys(looked));
      for (const [name, value] of Object.entries(looked))
        if (value === '\ufffd') expect(decoded[name]).toEqual(Buffer.from(value));
        else expect(text(decoded[name])).toEqual(text(value));
    }
  });

  it('has no header that it was not given', () => {
    const { headers } = read(encodeRecords([{ key: null, value: null }]));
    for (const name of ['constructor', 'toString', '__proto__']) expect(headers?.[name]).toBeUndefined();
  });

  it('has no key and no value where it has none', () => {
    expect(read(encodeRecords([{ key: null, value: null }]))).toMatchObject({ key: null, value: null });
  });

  it('counts its offset from that of the batch', () => {
    // its length, attributes, time +150, offset +1, no key, no value, no headers
    expect(read(Buffer.from('0e00ac0202010100', 'hex')).offset).toBe(FIRST_OFFSET + 1n);
  });

  // The last two: one header, of whose value of five bytes one is there, or the rest is the next record's.
  it.each([
    '0200',
    '080000000a61',
    '18ffffffffffffffffffffffff',
    '0a0000000101',
    '1600000001010202610a62',
    '1600000001010202610a6200000000',
  ])('is refused where it is cut off or none: %s', (hex) => {
    expect(() => read(Buffer.from(hex, 'hex'))).toThrow(RangeError);
  });
});

describe('the partition of a key', () => {
  const theirs = load('kafkajs/src/producer/partitioners/default/murmur2') as (key: string) => number;

  it('is that of Java’s clients and of the driver', () => {
    // org.apache.kafka.common.utils.UtilsTest
    const known = { '21': -973932308, foobar: -790332482, 'a-little-bit-long-string': -985981536 };
    for (const [key, hash] of Object.entries(known)) expect(murmur2(key)).toBe(hash);
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 40 }), (key) => {
        expect(murmur2(key)).toBe(theirs(key));
        expect(partitionOfKey(key, 12)).toBe((theirs(key) & 0x7fffffff) % 12);
      }),
    );
  });
});
