import { EventEmitter } from 'node:events';
import type { ConsumerRunConfig, EachBatchHandler, EachBatchPayload } from 'kafkajs';
import { expect, test } from 'vitest';
import { type FeedBatch, FeedSession, HandlingError } from '../../../ledger/feed/feed-session.ts';
import type { KafkaClient } from '../../../ledger/feed/kafka-client.ts';
import { FEED_LIMITS } from '../../../ledger/feed/limits.ts';
import { recordBatches } from '../../../ledger/feed/record-batch.ts';
import { planMessage } from '../../kafka/topic-writer.ts';

/** A driver's consumer that is told what happens to it; it joins when it is told to run. */
class DrivenConsumer extends EventEmitter {
  readonly events = { GROUP_JOIN: 'join', CRASH: 'crash', REQUEST: 'request', REQUEST_TIMEOUT: 'timeout' };
  onRun: () => void = () => undefined;
  readonly connect = async (): Promise<void> => undefined;
  readonly subscribe = this.connect;
  readonly disconnect = this.connect;
  commitOffsets = this.connect;
  eachBatch: EachBatchHandler | undefined;
  readonly run = async ({ eachBatch }: ConsumerRunConfig): Promise<void> => {
    this.eachBatch = eachBatch;
    this.onRun();
  };
}

const LZ4 = 3;
const TIMED_OUT = { payload: { broker: '127.0.0.1:9092', apiName: 'Fetch' } };

function sessionOn(
  consumer: DrivenConsumer,
  onBatch = async (_batch: FeedBatch): Promise<void> => undefined,
  sessionMs = 30_000,
): FeedSession {
  const client = { consumer: () => consumer, cut: () => undefined } as unknown as KafkaClient;
  return new FeedSession({
    ...{ client, topic: 'ledger', groupId: 'group', sessionMs },
    onJoined: () => undefined,
    onBatch,
  });
}

function emptyBatch(offset: number, codec: number): Buffer {
  const bytes = Buffer.alloc(61);
  bytes.writeBigInt64BE(BigInt(offset), 0);
  bytes.writeInt32BE(bytes.length - 12, 8);
  bytes.writeInt8(2, 16);
  bytes.writeInt16BE(codec, 21);
  return bytes;
}

const fetched = (bytes: Buffer): EachBatchPayload =>
  ({
    batch: { topic: 'ledger', partition: 3, fetchedOffset: '7', messages: recordBatches(bytes) },
    isStale: () => false,
    resolveOffset: () => undefined,
  }) as unknown as EachBatchPayload;

test('a session is lost with the first request that one of its brokers does not answer, though others answer theirs', async () => {
  const consumer = new DrivenConsumer();
  const session = sessionOn(consumer);
  await session.start(new AbortController().signal);
  consumer.emit('request', { payload: { apiName: 'Fetch' } });
  consumer.emit('timeout', TIMED_OUT);
  await expect(session.lost).rejects.toThrow('127.0.0.1:9092 has not answered a request (Fetch) in time');
  await session.close();
});

test('one that is timed out before it has joined is the driver’s to ask again', async () => {
  const consumer = new DrivenConsumer();
  consumer.onRun = () => consumer.emit('timeout', TIMED_OUT);
  const session = sessionOn(consumer);
  await expect(session.start(new AbortController().signal)).resolves.toBeUndefined();
  await session.close();
});

test('a batch that cannot be read ends the reading for good, and is told with where it stands', async () => {
  const consumer = new DrivenConsumer();
  const session = sessionOn(consumer);
  await session.start(new AbortController().signal);
  await consumer.eachBatch?.(fetched(emptyBatch(7, LZ4)));
  const error = await session.lost.catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(HandlingError);
  expect((error as HandlingError).cause.message).toEqual(
    expect.stringMatching(
      /^ledger partition 3 offset 7: a batch is compressed with codec 3, which is neither gzip nor zstd; /,
    ),
  );
  await session.close();
});

test('a commit that fails is a loss of the session, not of the handler, and nothing more is handed over', async () => {
  const consumer = new DrivenConsumer();
  const gone = new Error('connect ECONNREFUSED');
  consumer.commitOffsets = () => Promise.reject(gone);
  let handed = 0;
  const session = sessionOn(consumer, async ({ commit }) => {
    handed++;
    await commit();
  });
  await session.start(new AbortController().signal);
  await consumer.eachBatch?.(fetched(emptyBatch(7, 0)));
  await expect(session.lost).rejects.toBe(gone);
  await consumer.eachBatch?.(fetched(emptyBatch(7, 0)));
  expect(handed).toBe(1);
  await session.close();
});

test('a member that its group knows no more is handed no further piece of what was fetched', async () => {
  const consumer = new DrivenConsumer();
  const refused = Promise.withResolvers<void>();
  const resolved: string[] = [];
  const session = sessionOn(
    consumer,
    async () => {
      await refused.promise;
      await new Promise(setImmediate);
    },
    FEED_LIMITS.heartbeatPart,
  );
  await session.start(new AbortController().signal);
  const payload = {
    ...fetched(emptyBatch(7, 0)),
    batch: { topic: 'ledger', partition: 3, fetchedOffset: '0', messages: [pieceFrom(0), pieceFrom(1)] },
    heartbeat: () => {
      refused.resolve();
      return Promise.reject(new Error('The coordinator is not aware of this member'));
    },
    resolveOffset: (offset: string) => resolved.push(offset),
  };
  await consumer.eachBatch?.(payload as unknown as EachBatchPayload);
  expect(resolved).toEqual([String(FEED_LIMITS.handedEvents - 1)]);
  await session.close();
});

/** As much as is handed over at once. */
function pieceFrom(piece: number): object {
  const { key, value, headers } = planMessage('acct_1', 0);
  const bytes = Object.fromEntries(Object.entries(headers).map(([name, text]) => [name, Buffer.from(text)]));
  const record = { key: Buffer.from(key), value: Buffer.from(value), headers: bytes, offset: 0n };
  const nextOffset = BigInt((piece + 1) * FEED_LIMITS.handedEvents);
  return { nextOffset, records: async () => Array.from({ length: FEED_LIMITS.handedEvents }, () => record) };
}

test('a commit that nobody answers ends with the session', async () => {
  const consumer = new DrivenConsumer();
  const asked = Promise.withResolvers<void>();
  consumer.commitOffsets = () => {
    asked.resolve();
    return new Promise(() => undefined);
  };
  const session = sessionOn(consumer, ({ commit }) => commit());
  await session.start(new AbortController().signal);
  const taken = consumer.eachBatch?.(fetched(emptyBatch(7, 0)));
  await asked.promise;
  consumer.emit('timeout', { payload: { broker: '127.0.0.1:9092', apiName: 'OffsetCommit' } });
  await taken;
  await expect(session.lost).rejects.toThrow('has not answered a request (OffsetCommit) in time');
  await session.close();
});
