import { describe, expect, it } from 'vitest';
import { LEDGER_CATEGORIES, NO_STREAM, type StreamName } from '../../../../contracts/ids.ts';
import { EVENTSTOREDB_LIMITS } from '../../../../ledger/event-log/eventstoredb/limits.ts';
import type { FakeEventStore } from '../../../eventstoredb/fake-event-store.ts';
import { rejectionOf, until } from '../../../eventstoredb/with-client.ts';
import { at, collect, events, idsOf, newStream, written } from '../../../fixtures/ledger/shared-log.ts';
import { startWithLog } from './log-under-test.ts';

type Hide = (server: FakeEventStore, stream: StreamName) => void;

const HIDDEN: readonly (readonly [how: string, hide: Hide, why: string])[] = [
  ['deleted', (server, stream) => server.log.deleteSoftly(stream, 'any'), 'was deleted in EventStoreDB'],
  ['deleted for ever', (server, stream) => server.log.tombstone(stream, 'any'), 'was deleted for ever (tombstoned)'],
  ['cut by $tb', (server, stream) => server.setMetadata(stream, { $tb: 2 }), 'has $tb in its metadata'],
  ['emptied by $tb', (server, stream) => server.setMetadata(stream, { $tb: 99 }), 'has $tb in its metadata'],
  [
    'cut by $maxCount',
    (server, stream) => server.setMetadata(stream, { $maxCount: 1 }),
    'has $maxCount in its metadata',
  ],
  ['emptied by $maxAge', emptyByAge, 'has $maxAge'],
];

/** Nothing is older than the millisecond in which it was written. */
function emptyByAge(server: FakeEventStore, stream: StreamName): void {
  for (const atMs = Date.now(); Date.now() <= atMs; );
  server.setMetadata(stream, { $maxAge: 0.0001 });
}

describe.each(HIDDEN)('a stream that is %s', (_, hide, why) => {
  it('is told, at the start and while the log is followed, and no other is', async () => {
    const { server, log } = await startWithLog();
    const [early, late, other] = [newStream(), newStream(), newStream()];
    for (const stream of [early, late, other]) await written(log, stream, NO_STREAM, events(3));
    hide(server, early);
    hide(server, 'orders-1' as StreamName);
    const told: [StreamName, string | null][] = [];
    await log.followHidden?.((stream, reason) => void told.push([stream, reason]));
    expect(told).toEqual([[early, expect.stringContaining(`${early} ${why}`)]]);
    hide(server, late);
    await until(() => told.length === 2);
    expect(told[1]).toEqual([late, expect.stringContaining(why)]);
  });

  it('is not read as though it had fewer events, or none', async () => {
    const { server, log } = await startWithLog();
    const stream = newStream();
    await written(log, stream, NO_STREAM, events(3));
    hide(server, stream);
    for (const direction of ['forwards', 'backwards'] as const) {
      const error = await rejectionOf(collect(log.readStream(stream, { direction })));
      expect(error).toMatchObject({ kind: 'invalid', message: expect.stringContaining(`${stream} ${why}`) });
    }
  });

  it('holds nobody up who follows the log, and is not its head', async () => {
    const { server, log } = await startWithLog();
    const [stream, other] = [newStream(), newStream()];
    const first = events(3);
    await written(log, stream, NO_STREAM, first);
    hide(server, stream);
    const seen: string[] = [];
    const stopped: Error[] = [];
    let caughtUp = 0;
    log.subscribeAll({
      after: null,
      onEvents: (batch) => void seen.push(...idsOf(batch)),
      onCaughtUp: () => caughtUp++,
      onStopped: (error) => stopped.push(error),
    });
    await until(() => caughtUp === 1 || stopped.length > 0);
    const more = events(1);
    await written(log, other, NO_STREAM, more);
    await until(() => seen.length === 4 || stopped.length > 0);
    expect([seen, stopped]).toEqual([idsOf([...first, ...more]), []]);
  });
});

it('a stream whose metadata is mended is told to be whole again, where it has its first event', async () => {
  const { server, log } = await startWithLog();
  const stream = newStream();
  await written(log, stream, NO_STREAM, events(3));
  server.log.deleteSoftly(stream, 'any');
  const told: (string | null)[] = [];
  await log.followHidden?.((_, why) => void told.push(why));
  server.setMetadata(stream, { $acl: { $d: '$admins' } });
  await until(() => told.length === 2);
  expect(told[1]).toBeNull();
  expect(await collect(log.readStream(stream))).toHaveLength(3);
});

describe.each(['22.10', '24.2'] as const)('metadata that was mended before the start, on a server %s', (version) => {
  const server = { version };

  it('is told of no stream that is whole by then', async () => {
    const { server: store, log } = await startWithLog({ server });
    const [stream, other] = [newStream(), newStream()];
    for (const name of [stream, other]) await written(log, name, NO_STREAM, events(3));
    // Behind the ledger's last event, and so behind its head.
    for (const metadata of [{ $maxCount: 1 }, {}, { $tb: 1 }, {}]) store.setMetadata(stream, metadata);
    const told: [StreamName, string | null][] = [];
    const looked = log.followHidden?.((...what) => void told.push(what));
    await looked;
    store.setMetadata(other, { $tb: 1 });
    await until(() => told.length > 0);
    expect(told).toEqual([[other, expect.stringContaining('$tb')]]);
  });

  it('is told of one that was hidden in another way since, and in no other', async () => {
    const { server: store, log } = await startWithLog({ server });
    const stream = newStream();
    await written(log, stream, NO_STREAM, events(3));
    for (const metadata of [{ $maxCount: 1 }, {}, { $tb: 1 }]) store.setMetadata(stream, metadata);
    const told: (string | null)[] = [];
    await log.followHidden?.((_, why) => void told.push(why));
    expect(told).toEqual([expect.stringContaining('has $tb')]);
  });
});

it('a stream of which a scavenge destroyed what was hidden is not told to be whole again when its metadata is mended, nor by the next start', async () => {
  const { server, log } = await startWithLog();
  const [stream, other] = [newStream(), newStream()];
  for (const name of [stream, other]) await written(log, name, NO_STREAM, events(3));
  for (const name of [stream, other]) server.setMetadata(name, { $tb: 2 });
  const told = new Map<StreamName, string | null>();
  await log.followHidden?.((name, why) => void told.set(name, why));
  server.log.scavenge(stream);
  for (const name of [stream, other]) server.setMetadata(name, {});
  await until(() => told.get(other) === null);
  expect(told.get(stream)).toContain('has lost its first events');
  const again: [StreamName, string | null][] = [];
  await log.followHidden?.((...what) => void again.push(what));
  expect(again).toEqual([[stream, expect.stringContaining('only a backup has them')]]);
});

it('a stream in which a scavenge left a hole is not told to be whole again, though it begins with its first event', async () => {
  const { server, log } = await startWithLog();
  const [stream, other] = [newStream(), newStream()];
  for (const name of [stream, other]) await written(log, name, NO_STREAM, events(4));
  for (const name of [stream, other]) server.setMetadata(name, { $tb: 3 });
  const told: [StreamName, string | null][] = [];
  await log.followHidden?.(
    (...what) => void told.push(what),
    () => [stream],
  );
  server.log.scavenge(stream, 1);
  for (const name of [stream, other]) server.setMetadata(name, {});
  await until(() => told.some(([name, why]) => name === other && why === null));
  // What is told of the two may come in either order.
  await until(() => told.length === 4);
  expect(told.filter(([name]) => name === stream)).toEqual([
    [stream, expect.stringContaining('has $tb')],
    [stream, expect.stringContaining('has lost its revision 1')],
  ]);
  for (const direction of ['forwards', 'backwards'] as const)
    expect(await rejectionOf(collect(log.readStream(stream, { direction })))).toMatchObject({
      message: expect.stringContaining('has lost its revision'),
    });
});

describe('what is hidden', () => {
  it('is told on a server that tells no caught-up, and after the server was away', async () => {
    const { server, log } = await startWithLog({ server: { version: '22.10' } });
    const [first, second] = [newStream(), newStream()];
    for (const stream of [first, second]) await written(log, stream, NO_STREAM, events(1));
    server.setMetadata(first, { $maxCount: 1 });
    const told: StreamName[] = [];
    await log.followHidden?.((stream) => void told.push(stream));
    expect(told).toEqual([first]);
    await server.kill();
    server.log.deleteSoftly(second, 'any');
    await server.restart();
    await until(() => told.length === 2);
    expect(told).toEqual([first, second]);
  });

  it('is out of sight once for each reason of an outage, however long it is looked for', async () => {
    const { server, log, lines } = await startWithLog();
    const stream = newStream();
    await written(log, stream, NO_STREAM, events(1));
    let isSeen = false;
    await log.followHidden?.(() => {
      isSeen = true;
    });
    const [told, tried]: [string[], string[]] = [[], []];
    lines.warn = (fields) => void told.push(JSON.stringify(fields));
    lines.debug = (fields) => void tried.push(JSON.stringify(fields));
    const ofRefused = (level: readonly string[]): number =>
      level.filter((line) => line.includes('ECONNREFUSED')).length;
    await server.kill();
    await until(() => ofRefused(tried) > 3);
    expect(ofRefused(told)).toBe(1);
    expect(new Set(told).size).toBe(told.length);
    await server.restart();
    server.setMetadata(stream, { $tb: 99 });
    await until(() => isSeen);
    await server.kill();
    await until(() => ofRefused(told) === 2);
  });

  it('has been looked at only when all that is before the head has come, in however many pieces', async () => {
    const { server, log } = await startWithLog();
    const [late, noise, last] = [newStream(), newStream(), newStream()];
    await written(log, late, NO_STREAM, events(1));
    for (let told = 0; told < 2 * EVENTSTOREDB_LIMITS.batchEventsMax; told++) server.setMetadata(noise, { told });
    server.setMetadata(late, { $tb: 1 });
    await written(log, last, NO_STREAM, events(1));
    const told: StreamName[] = [];
    await log.followHidden?.((stream) => void told.push(stream));
    expect(told).toEqual([late]);
  });

  it('is told of each category of the ledger, also in a log without an event of it', async () => {
    const { server, log } = await startWithLog();
    for (const category of LEDGER_CATEGORIES) server.setMetadata(`${category}-x`, { $tb: 1 });
    const told: StreamName[] = [];
    await log.followHidden?.((stream) => void told.push(stream));
    await until(() => told.length === LEDGER_CATEGORIES.length);
    expect(await collect(log.readStream(newStream()))).toEqual([]);
    expect(await log.append(newStream(), at(3), events(1))).toMatchObject({ type: 'conflict' });
  });
});

it('a stream that an earlier run was told of is told to be whole where it is by now, though nothing is said of it any more, and else why it is not', async () => {
  const { server, log } = await startWithLog();
  const [mended, hidden] = [newStream(), newStream()];
  for (const stream of [mended, hidden]) await written(log, stream, NO_STREAM, events(2));
  server.setMetadata(hidden, { $tb: 1 });
  const told: [StreamName, string | null][] = [];
  await log.followHidden?.(
    (...what) => void told.push(what),
    () => [mended, hidden],
  );
  expect(new Map(told)).toEqual(
    new Map([
      [mended, null],
      [hidden, expect.stringContaining('has $tb')],
    ]),
  );
});

it('a stream that a reader found hidden is looked at each time, though the log says nothing of it', async () => {
  const { log } = await startWithLog({ deadlines: { silenceMs: 20 } });
  const stream = newStream();
  await written(log, stream, NO_STREAM, events(2));
  const found = new Set<StreamName>();
  const told: [StreamName, string | null][] = [];
  const onHidden = (...what: [StreamName, string | null]): void => {
    found.delete(what[0]);
    told.push(what);
  };
  await log.followHidden?.(onHidden, () => [...found]);
  for (const times of [1, 2]) {
    found.add(stream);
    await until(() => told.length === times);
  }
  expect(told).toEqual([
    [stream, null],
    [stream, null],
  ]);
});

it('with a prefix, streams are told by the names of the ledger, and those of others not at all', async () => {
  const { server, log } = await startWithLog({ streamPrefix: 'gateway-' });
  const [early, late, deleted] = [newStream(), newStream(), newStream()];
  for (const stream of [early, late, deleted]) await written(log, stream, NO_STREAM, events(2));
  const onServer = (stream: StreamName): StreamName => `gateway-${stream}` as StreamName;
  server.setMetadata(onServer(early), { $tb: 1 });
  // Another ledger's, and another application's.
  for (const stream of [late, `other-${late}`]) server.setMetadata(stream, { $tb: 1 });
  const told: [StreamName, string | null][] = [];
  await log.followHidden?.((...what) => void told.push(what));
  expect(told).toEqual([[early, expect.stringContaining(`${onServer(early)} has $tb in its metadata`)]]);
  server.log.tombstone(onServer(deleted), 'any');
  await until(() => told.length === 2);
  expect(told[1]).toEqual([deleted, expect.stringContaining(`${onServer(deleted)} was deleted for ever`)]);
  server.setMetadata(onServer(early), {});
  await until(() => told.length === 3);
  expect(told[2]).toEqual([early, null]);
});
