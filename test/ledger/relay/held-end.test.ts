import { pino } from 'pino';
import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { EventLogError } from '../../../contracts/event-log.ts';
import { CATALOG_STREAM } from '../../../contracts/ids.ts';
import { identifyLedger } from '../../../ledger/identity/identify-ledger.ts';
import { recordingBy } from '../../../ledger/recording-by.ts';
import { PublishError, type TopicState } from '../../../ledger/relay/publisher.ts';
import { runRelay } from '../../../ledger/relay/relay.ts';
import { RelayMetrics } from '../../../ledger/relay/relay-metrics.ts';
import { MemoryEventLog } from '../../fixtures/ledger/memory-event-log.ts';
import { proposed } from './ledger-file.ts';
import { MemoryPublisher } from './memory-publisher.ts';

/** One whose connections are never closed, but for the first, by which the relay asks whether Kafka is there. */
class HeldPublisher extends MemoryPublisher {
  #closes = 0;

  override close(): Promise<void> {
    return ++this.#closes === 1 ? Promise.resolve() : new Promise(() => undefined);
  }
}

/** One whose connections are never closed at all. */
class NeverClosedPublisher extends MemoryPublisher {
  override connect(): Promise<never> {
    return Promise.reject(new PublishError('mismatch', 'the topic is compacted'));
  }

  override close(): Promise<void> {
    return new Promise(() => undefined);
  }
}

class CountedPublisher extends MemoryPublisher {
  connections = 0;

  override connect(): Promise<TopicState> {
    this.connections++;
    return super.connect();
  }
}

const optionsOf = (log: MemoryEventLog, publisher: MemoryPublisher) => ({
  log,
  publisher,
  feed: 'ledger',
  relay: 'relay',
  claimMs: 30_000,
  metrics: new RelayMetrics(new Registry(), Date.now),
  logger: pino({ level: 'silent' }),
  clock: Date.now,
  place: { where: 'ledger.db', looks: 1 },
  topicLookMs: 60_000,
});

/** What a relay tells of its end: whoever runs it leaves by that, within a time of its own. */
async function toldEnd(log: MemoryEventLog, publisher: MemoryPublisher = new HeldPublisher()): Promise<unknown> {
  await identifyLedger(log, Date.now(), recordingBy('operator', Date.now()));
  const told = Promise.withResolvers<unknown>();
  let isOver = false;
  const ended = runRelay({
    ...optionsOf(log, publisher),
    signal: new AbortController().signal,
    onEnding: told.resolve,
  });
  ended.catch(() => undefined).finally(() => (isOver = true));
  const error = await told.promise;
  await new Promise((resolve) => setImmediate(resolve));
  expect(isOver).toBe(false);
  return error;
}

it('the active relay tells why it ends before it waits for a publisher that never closes', async () => {
  const log = new MemoryEventLog();
  log.write(
    CATALOG_STREAM,
    proposed(1).map((event) => ({ ...event, type: 'OrderPlaced' })),
  );
  expect(await toldEnd(log)).toMatchObject({ name: 'UnpublishableEventError' });
});

it('so does one whose claim the log refuses', async () => {
  const log = new MemoryEventLog();
  log.faults = (stream) => ({ type: stream.startsWith('relay-') ? 'reject' : 'none' });
  expect(await toldEnd(log)).toBeInstanceOf(EventLogError);
});

it('so does one that finds a topic that is not as it is configured before it stands by', async () => {
  const told = await toldEnd(new MemoryEventLog(), new NeverClosedPublisher());
  expect(told).toMatchObject({ name: 'PublishError', kind: 'mismatch' });
});

it('one that was told to stop while it waited for the log asks for no topic, which would be made then', async () => {
  const [log, publisher] = [new MemoryEventLog(), new CountedPublisher()];
  await runRelay({ ...optionsOf(log, publisher), signal: AbortSignal.abort() });
  expect([publisher.connections, log.events]).toEqual([0, []]);
});
