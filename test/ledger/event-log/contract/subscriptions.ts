import { describe, expect, it } from 'vitest';
import type { RecordedEvent } from '../../../../contracts/event-log.ts';
import { NO_STREAM } from '../../../../contracts/ids.ts';
import { at, collect, events, type LogsUnderTest, newStream, written } from '../../../fixtures/ledger/shared-log.ts';
import { Subscriber } from './subscriber.ts';

export function describeSubscriptions(logs: LogsUnderTest): void {
  describe('subscribeAll', () => {
    handsOverEvents(logs);
    tellsWhenCaughtUp(logs);
    stopsOnFailure(logs);
    closes(logs);
  });
}

function handsOverEvents(logs: LogsUnderTest): void {
  it('hands over the whole log from the beginning, then what follows', async () => {
    const stream = newStream();
    await written(logs.log, stream, NO_STREAM, events(3));
    const subscriber = new Subscriber(logs.log, null, [stream]);
    await subscriber.until(() => subscriber.own.length === 3);
    const { position } = await written(logs.log, stream, at(2), events(2));
    await subscriber.untilAt(position);
    await subscriber.close();

    expect(subscriber.own).toEqual(await collect(logs.log.readStream(stream)));
    const [first] = await collect(logs.log.readAll({ limit: 1 }));
    expect(subscriber.all[0]).toEqual(first);
  });

  it('hands over what follows a position, exclusive', async () => {
    const stream = newStream();
    const first = await written(logs.log, stream, NO_STREAM, events(3));
    const second = await written(logs.log, stream, at(2), events(2));
    const subscriber = new Subscriber(logs.log, first.position, [stream]);
    await subscriber.untilAt(second.position);
    const third = await written(logs.log, stream, at(4), events(1));
    await subscriber.untilAt(third.position);
    await subscriber.close();

    expect(subscriber.own.map(({ revision }) => revision)).toEqual([3, 4, 5]);
  });

  it('hands over what another handle writes while it is live', async () => {
    const stream = newStream();
    const subscriber = new Subscriber(logs.log, await logs.log.headPosition(), [stream]);
    await subscriber.until(() => subscriber.caughtUp > 0);
    const first = await written(logs.other, stream, NO_STREAM, events(2));
    await subscriber.untilAt(first.position);
    const second = await written(logs.log, stream, at(1), events(1));
    await subscriber.untilAt(second.position);
    const third = await written(logs.other, stream, at(2), events(1));
    await subscriber.untilAt(third.position);
    await subscriber.close();

    expect(subscriber.own).toEqual(await collect(logs.log.readStream(stream)));
  });

  it('serves several subscribers alike', async () => {
    const stream = newStream();
    const head = await logs.log.headPosition();
    const subscribers = [0, 1, 2].map(() => new Subscriber(logs.log, head, [stream]));
    const { position } = await written(logs.log, stream, NO_STREAM, events(5));
    for (const subscriber of subscribers) await subscriber.untilAt(position);
    await Promise.all(subscribers.map((subscriber) => subscriber.close()));
    for (const { own } of subscribers) expect(own).toEqual(await collect(logs.log.readStream(stream)));
  });
}

function tellsWhenCaughtUp(logs: LogsUnderTest): void {
  it('tells that it has caught up, after everything that was in the log', async () => {
    const stream = newStream();
    const { position } = await written(logs.log, stream, NO_STREAM, events(1));
    const last = await written(logs.log, stream, at(0), events(700));
    const subscriber = new Subscriber(logs.log, position, [stream]);
    await subscriber.until(() => subscriber.caughtUp > 0);
    expect(subscriber.last).toBeGreaterThanOrEqual(last.position);
    expect(subscriber.own).toHaveLength(700);
    await subscriber.close();
  });

  it('tells that it has caught up where there is nothing to hand over', async () => {
    const subscriber = new Subscriber(logs.log, await logs.log.headPosition(), []);
    await subscriber.until(() => subscriber.caughtUp > 0);
    await subscriber.close();
    expect(subscriber.stopped).toEqual([]);
  });
}

function stopsOnFailure(logs: LogsUnderTest): void {
  it.each([
    [
      'throws',
      () => {
        throw new Error('no room');
      },
    ],
    ['rejects', () => Promise.reject(new Error('no room'))],
  ])('stops when its handler %s, and tells it once', async (_, fails: () => void | Promise<void>) => {
    const stream = newStream();
    const head = await logs.log.headPosition();
    const seen: RecordedEvent[] = [];
    const subscriber = new Subscriber(logs.log, head, [stream], async (batch) => {
      seen.push(...batch.filter((event) => event.stream === stream));
      if (seen.length > 0) await fails();
    });
    const witness = new Subscriber(logs.log, head, [stream]);
    await written(logs.log, stream, NO_STREAM, events(1));
    await subscriber.until(() => subscriber.stopped.length > 0);
    const later = await written(logs.log, stream, at(0), events(3));
    await witness.untilAt(later.position);
    await Promise.all([subscriber.close(), witness.close()]);

    expect(subscriber.stopped.map(({ message }) => message)).toEqual(['no room']);
    expect(seen).toHaveLength(1);
    expect(witness.own).toHaveLength(4);
  });
}

function closes(logs: LogsUnderTest): void {
  it('has ended when close resolves: the handler is not under way and is not called again', async () => {
    const stream = newStream();
    const head = await logs.log.headPosition();
    const [entered, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let finished = 0;
    const subscriber = new Subscriber(logs.log, head, [stream], async () => {
      entered.resolve();
      await gate.promise;
      finished++;
    });
    const witness = new Subscriber(logs.log, head, [stream]);
    await written(logs.log, stream, NO_STREAM, events(1));
    await entered.promise;
    const { position } = await written(logs.log, stream, at(0), events(2));
    let isClosed = false;
    const closing = subscriber.close().then(() => {
      isClosed = true;
    });
    await witness.untilAt(position);
    expect(isClosed).toBe(false);
    gate.resolve();
    await closing;
    await subscriber.close();
    const later = await written(logs.log, stream, at(2), events(1));
    await witness.untilAt(later.position);
    await witness.close();

    expect(finished).toBe(1);
    expect(subscriber.stopped).toEqual([]);
  });
}
