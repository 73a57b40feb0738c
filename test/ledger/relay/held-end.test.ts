import { expect, it } from 'vitest';
import { EventLogError } from '../../../contracts/event-log.ts';
import { CATALOG_STREAM } from '../../../contracts/ids.ts';
import { PublishError, type TopicState } from '../../../ledger/relay/publisher.ts';
import { MemoryEventLog } from '../../fixtures/ledger/memory-event-log.ts';
import { proposed } from './ledger-file.ts';
import { MemoryPublisher } from './memory-publisher.ts';
import { identifiedLog, relayInMemory } from './relay-in-memory.ts';

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

/** What a relay tells of its end: whoever runs it leaves by that, within a time of its own. */
async function toldEnd(log: MemoryEventLog, publisher: MemoryPublisher = new HeldPublisher()): Promise<unknown> {
  await identifiedLog(log);
  const told = Promise.withResolvers<unknown>();
  let isOver = false;
  const { ended } = relayInMemory(log, publisher, { onEnding: told.resolve });
  void ended.finally(() => (isOver = true));
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
  expect(await relayInMemory(log, publisher, { signal: AbortSignal.abort() }).ended).toBeNull();
  expect([publisher.connections, log.events]).toEqual([0, []]);
});
