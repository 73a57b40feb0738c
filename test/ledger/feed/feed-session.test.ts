import { EventEmitter } from 'node:events';
import { expect, test } from 'vitest';
import { FeedSession } from '../../../ledger/feed/feed-session.ts';
import type { KafkaClient } from '../../../ledger/feed/kafka-client.ts';

/** A driver's consumer that is told what happens to it; it joins when it is told to run. */
class DrivenConsumer extends EventEmitter {
  readonly events = { GROUP_JOIN: 'join', CRASH: 'crash', REQUEST: 'request', REQUEST_TIMEOUT: 'timeout' };
  onRun: () => void = () => undefined;
  readonly connect = async (): Promise<void> => undefined;
  readonly subscribe = this.connect;
  readonly disconnect = this.connect;
  readonly run = async (): Promise<void> => this.onRun();
}

const TIMED_OUT = { payload: { broker: '127.0.0.1:9092', apiName: 'Fetch' } };

function sessionOn(consumer: DrivenConsumer): FeedSession {
  const client = { consumer: () => consumer, cut: () => undefined } as unknown as KafkaClient;
  return new FeedSession({
    ...{ client, topic: 'ledger', groupId: 'group', sessionMs: 30_000 },
    onJoined: () => undefined,
    onBatch: async () => undefined,
  });
}

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
