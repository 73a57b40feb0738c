import { describe, expect, it } from 'vitest';
import type { RecordedEvent } from '../../../../contracts/event-log.ts';
import { eventId, NO_STREAM, type Position, type StreamName } from '../../../../contracts/ids.ts';
import { EVENTSTOREDB_LIMITS } from '../../../../ledger/event-log/eventstoredb/limits.ts';
import type { ReadFault } from '../../../eventstoredb/fault-kinds.ts';
import { until } from '../../../eventstoredb/with-client.ts';
import { at, event, events, idsOf, newId, newStream, written } from '../../../fixtures/ledger/shared-log.ts';
import { type LogUnderTest, SOON_SILENT, startWithLog } from './log-under-test.ts';

/** Follows the whole log, and keeps what it was told. */
function follow(
  { log }: LogUnderTest,
  onEvents: (events: readonly RecordedEvent[]) => void | Promise<void> = () => undefined,
  after: Position | null = null,
) {
  const told = { all: [] as RecordedEvent[], batches: [] as number[], caughtUp: 0, dropped: [] as Error[] };
  const stopped: Error[] = [];
  const subscription = log.subscribeAll({
    after,
    onEvents: async (batch) => {
      await onEvents(batch);
      told.all.push(...batch);
      told.batches.push(batch.length);
    },
    onCaughtUp: () => told.caughtUp++,
    onDropped: (error) => told.dropped.push(error),
    onStopped: (error) => stopped.push(error),
  });
  return Object.assign(told, { stopped, subscription });
}

/** So many events in one stream, 500 an append; the ids in order. */
async function fill({ log }: LogUnderTest, count: number): Promise<{ stream: StreamName; ids: string[] }> {
  const stream = newStream();
  const ids: string[] = [];
  for (let first = 0; first < count; first += 500) {
    const proposed = events(Math.min(500, count - first));
    await written(log, stream, at(first - 1), proposed);
    ids.push(...idsOf(proposed));
  }
  return { stream, ids };
}

/** The events that the server has written when it has stopped: the count stays the same for a while. */
async function quietCount({ server }: LogUnderTest): Promise<number> {
  let last = -1;
  let same = 0;
  await until(() => {
    same = server.calls.eventsWritten === last ? same + 1 : 0;
    last = server.calls.eventsWritten;
    return same > 50;
  });
  return last;
}

describe('a live subscription', () => {
  it('goes on without gap or repeat when the server is killed and comes back', async () => {
    const test = await startWithLog();
    const stream = newStream();
    const follower = follow(test);
    await until(() => follower.caughtUp === 1);
    const ids: string[] = [];
    for (let round = 0; round < 3; round++) {
      const proposed = events(5);
      await written(test.log, stream, at(ids.length - 1), proposed);
      ids.push(...idsOf(proposed));
      await until(() => follower.all.length === ids.length);
      await test.server.kill();
      await until(() => follower.dropped.length > round);
      await test.server.restart();
      await until(() => follower.caughtUp > round + 1);
    }
    expect(idsOf(follower.all)).toEqual(ids);
    expect(follower.dropped[0]).toMatchObject({ name: 'EventLogError', kind: 'unavailable' });
    expect(follower.stopped).toEqual([]);
  });

  it.each<[string, ReadFault]>([
    ['is refused', 'refuse'],
    ['meets an error nobody knows', 'internal'],
    ['is denied', 'access-denied'],
    ['is sent to another node', 'not-leader'],
    ['is broken', { breakAfterEvents: 7 }],
    ['has its connection cut', { cutAfterEvents: 7 }],
    ['is silent from the first', { silentAfterEvents: 0 }],
    ['falls silent', { silentAfterEvents: 7 }],
  ])('that %s begins again after the last event applied', async (_, fault) => {
    const isSilent = typeof fault === 'object' && 'silentAfterEvents' in fault;
    const test = await startWithLog(isSilent ? { deadlines: SOON_SILENT } : {});
    const { ids } = await fill(test, 40);
    test.server.faults.nextSubscriptions(fault, fault);
    const follower = follow(test);
    await until(() => follower.caughtUp > 0);
    expect(idsOf(follower.all)).toEqual(ids);
    // What had begun and broke is made again, and nobody is told; with its connection the head's reading may be cut, too.
    const isOrdinary = fault === 'not-leader' || (typeof fault === 'object' && 'breakAfterEvents' in fault);
    if (isSilent) expect(follower.dropped.length).toBeGreaterThanOrEqual(2);
    else if (isOrdinary) expect(follower.dropped).toEqual([]);
    else if (typeof fault === 'string') expect(follower.dropped.length).toBe(2);
    expect(test.lines.warnings.length).toBe(fault === 'internal' ? 2 : 0);
  });

  it('that falls silent when it has caught up is found, and made again', async () => {
    const test = await startWithLog({ deadlines: SOON_SILENT });
    const { ids, stream } = await fill(test, 10);
    test.server.faults.nextSubscriptions({ silentAfterEvents: 12 });
    const follower = follow(test);
    await until(() => follower.caughtUp > 0);
    const more = events(6);
    await written(test.log, stream, at(9), more);
    await until(() => follower.all.length === 16);
    expect(idsOf(follower.all)).toEqual([...ids, ...idsOf(more)]);
    expect(follower.dropped[0]).toMatchObject({ kind: 'unavailable', message: expect.stringContaining('dead') });
    await until(() => follower.caughtUp > 1);
  });

  it('is not disturbed while it is silent because nothing happens, or only to streams of others', async () => {
    const test = await startWithLog({ deadlines: { silenceMs: SOON_SILENT.silenceMs } });
    await fill(test, 3);
    const follower = follow(test);
    await until(() => follower.caughtUp === 1);
    for (const stream of ['other-1', 'catalogs-1', '$settings-x'])
      test.server.log.append(stream, -1, [
        { id: newId(), type: 'X', contentType: 'application/octet-stream', data: Buffer.of(1), metadata: Buffer.of() },
      ]);
    const readsBefore = test.server.calls.list('Read').length;
    await until(() => test.server.calls.list('Read').length >= readsBefore + 4);
    expect(follower.dropped).toEqual([]);
    expect(follower.all).toHaveLength(3);
    expect(test.server.calls.list('Subscribe')).toHaveLength(1);
    expect(await test.log.headPosition()).toBe(follower.all.at(-1)?.position);
  });

  it('hands over what is no text as an empty one, between those before and behind it', async () => {
    const test = await startWithLog();
    const stream = newStream();
    await written(test.log, stream, NO_STREAM, events(2));
    test.server.log.append(stream, 1, [
      {
        id: eventId(newId()),
        type: 'X',
        contentType: 'application/json',
        data: Buffer.of(0xff),
        metadata: Buffer.of(),
      },
    ]);
    await written(test.log, stream, at(2), events(1));
    const follower = follow(test);
    await until(() => follower.all.length === 4 || follower.stopped.length > 0);
    expect(follower.stopped).toEqual([]);
    expect(follower.all[2]).toMatchObject({ stream, revision: 2, type: 'X', data: '', metadata: '' });
  });
});

describe('servers of before', () => {
  it('tell no caught-up, and are never silent under load: the head at the beginning decides', async () => {
    const test = await startWithLog({ server: { version: '22.10' } });
    const { stream, ids } = await fill(test, 40);
    let revision = 39;
    // Whatever has been applied, one more is on its way.
    const follower = follow(test, async () => {
      if (follower.caughtUp > 0) return;
      await written(test.log, stream, at(revision++), events(1));
    });
    await until(() => follower.caughtUp > 0);
    expect(idsOf(follower.all).slice(0, 40)).toEqual(ids);
    expect(test.server.calls.list('Subscribe')).toHaveLength(1);
  });

  it.each(['22.10', '23.10'] as const)('(%s) drop who lags, which is no outage', async (version) => {
    const test = await startWithLog({ server: { version } });
    const stream = newStream();
    const follower = follow(test);
    await until(() => follower.caughtUp === 1);
    const ids: string[] = [];
    for (let round = 0; round < 3; round++) {
      const proposed = events(40);
      await written(test.log, stream, at(ids.length - 1), proposed);
      ids.push(...idsOf(proposed));
      await until(() => follower.all.length === ids.length && follower.caughtUp === round + 2);
    }
    expect(test.server.calls.slowConsumers).toBe(3);
    expect(idsOf(follower.all)).toEqual(ids);
    expect(follower.dropped).toEqual([]);
    expect(test.lines.warnings).toEqual([]);
  });

  it('do not drop who reads ahead of a handler that takes its time', async () => {
    const test = await startWithLog({ server: { version: '23.10' } });
    const stream = newStream();
    const gate = Promise.withResolvers<void>();
    const follower = follow(test, () => gate.promise);
    await until(() => follower.caughtUp === 1);
    for (let first = 0; first < 1_800; first += 30) await written(test.log, stream, at(first - 1), events(30));
    gate.resolve();
    await until(() => follower.all.length === 1_800);
    expect(test.server.calls.slowConsumers).toBe(0);
    expect(test.server.calls.list('Subscribe')).toHaveLength(1);
  });

  it('that drop again and again, and bring nothing, are told to be away', async () => {
    const test = await startWithLog();
    await fill(test, 5);
    test.server.faults.nextSubscriptions(...Array<ReadFault>(3).fill({ breakAfterEvents: 0 }));
    const follower = follow(test);
    await until(() => follower.caughtUp === 1);
    expect(follower.dropped.length).toBeGreaterThan(0);
  });
});

it('a subscription whose head cannot be read has not caught up, and says that the log is away', async () => {
  const test = await startWithLog();
  const { ids } = await fill(test, 5);
  let isAway = true;
  test.server.faults.onRead = () => (isAway ? 'refuse' : 'ok');
  const follower = follow(test);
  await until(() => follower.dropped.length > 0);
  expect(follower.caughtUp).toBe(0);
  isAway = false;
  await until(() => follower.caughtUp === 1);
  expect(idsOf(follower.all)).toEqual(ids);
});

describe('catching up', () => {
  it('hands over 10,000 events in batches, of bounded length', async () => {
    const test = await startWithLog();
    const { ids } = await fill(test, 10_000);
    const follower = follow(test);
    await until(() => follower.caughtUp > 0);
    expect(idsOf(follower.all)).toEqual(ids);
    expect(follower.batches.length).toBeLessThan(2_000);
    expect(Math.max(...follower.batches)).toBeLessThanOrEqual(EVENTSTOREDB_LIMITS.batchEventsMax);
  });

  it('survives the server being killed in the middle, again and again', async () => {
    const test = await startWithLog();
    const { ids } = await fill(test, 10_000);
    let nextKill = 1_000;
    let kills = 0;
    let seen = 0;
    const follower = follow(test, async (batch) => {
      seen += batch.length;
      if (seen < nextKill) return;
      nextKill += 3_000;
      kills++;
      await test.server.kill();
      await test.server.restart();
    });
    await until(() => follower.caughtUp > 0);
    expect(idsOf(follower.all)).toEqual(ids);
    expect(kills).toBeGreaterThanOrEqual(3);
    expect(test.server.calls.list('Subscribe').length).toBeGreaterThanOrEqual(4);
  });

  it('survives one break after the other', async () => {
    const test = await startWithLog({ deadlines: SOON_SILENT });
    const { ids } = await fill(test, 3_000);
    const breaks: ReadFault[] = [
      'refuse',
      { breakAfterEvents: 300 },
      { cutAfterEvents: 1 },
      'busy',
      { breakAfterEvents: 0 },
      { cutAfterEvents: 513 },
      { silentAfterEvents: 100 },
      { breakAfterEvents: 64 },
    ];
    test.server.faults.nextSubscriptions(...breaks);
    const follower = follow(test);
    await until(() => follower.caughtUp > 0);
    expect(idsOf(follower.all)).toEqual(ids);
    expect(test.server.calls.list('Subscribe').length).toBeGreaterThan(breaks.length);
  });

  it('waits with the server while the handler is slow', async () => {
    const test = await startWithLog();
    const stream = newStream();
    const data = JSON.stringify('x'.repeat(10_000));
    for (let first = 0; first < 4_000; first += 80)
      await written(
        test.log,
        stream,
        at(first - 1),
        Array.from({ length: 80 }, () => ({ ...event(), data })),
      );
    const gate = Promise.withResolvers<void>();
    const before = test.server.calls.eventsWritten;
    const follower = follow(test, () => gate.promise);
    await until(() => test.server.calls.eventsWritten > before + 100);
    expect((await quietCount(test)) - before).toBeLessThan(1_500);
    gate.resolve();
    await until(() => follower.all.length === 4_000);
    expect(follower.dropped).toEqual([]);
  });

  it('leaves nothing at the server when it is closed or the loop of a read is left', async () => {
    const test = await startWithLog();
    const { stream } = await fill(test, 5_000);
    const follower = follow(test);
    await until(() => follower.all.length > 0);
    await follower.subscription.close();
    for await (const { revision } of test.log.readStream(stream)) if (revision === 3) break;
    // A call that still runs would keep its connection.
    await test.log.close();
    await until(() => test.server.connections === 0);
  });
});
