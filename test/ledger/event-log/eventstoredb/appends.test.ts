import { describe, expect, it } from 'vitest';
import { EventLogError, type ProposedEvent } from '../../../../contracts/event-log.ts';
import { eventId, NO_STREAM, type StreamName } from '../../../../contracts/ids.ts';
import { EVENTSTOREDB_LIMITS } from '../../../../ledger/event-log/eventstoredb/limits.ts';
import { startFakeEventStore } from '../../../eventstoredb/fake-event-store.ts';
import type { AppendFault } from '../../../eventstoredb/fault-kinds.ts';
import { textOf } from '../../../eventstoredb/stored-event.ts';
import { StoredLog } from '../../../eventstoredb/stored-log.ts';
import { rejectionOf, until } from '../../../eventstoredb/with-client.ts';
import { endedLater } from '../../../fixtures/ended-later.ts';
import { at, collect, event, events, idsOf, newId, newStream, written } from '../../../fixtures/ledger/shared-log.ts';
import { Lines, open, startWithLog, WAITED_FOR_MS } from './log-under-test.ts';

describe.each([
  ['among many', true],
  ['by a call of its own', false],
])('an append %s that fails', (_, batchAppend) => {
  it.each<[AppendFault, string, 'written' | 'not written']>([
    ['refuse', 'ambiguous', 'not written'],
    ['lose-ack', 'ambiguous', 'written'],
    ['lose-ack-cancelled', 'ambiguous', 'written'],
    ['stall', 'ambiguous', 'not written'],
    ['store-and-stall', 'ambiguous', 'written'],
    ['busy', 'unavailable', 'not written'],
    ['not-ready', 'unavailable', 'not written'],
    ['internal', 'ambiguous', 'not written'],
    ['unknown', 'ambiguous', 'not written'],
    ['no-leader', 'unavailable', 'not written'],
    ['bad-request', batchAppend ? 'unavailable' : 'ambiguous', 'not written'],
    ['commit-timeout', 'ambiguous', 'not written'],
    ['access-denied', 'unavailable', 'not written'],
    ['cut', 'ambiguous', 'not written'],
    ['store-and-cut', 'ambiguous', 'written'],
  ])('by %s is %s, and the same append again succeeds once', async (fault, kind, wasWritten) => {
    const isStall = fault === 'stall' || fault === 'store-and-stall';
    const deadlines = isStall ? { appendMs: WAITED_FOR_MS } : {};
    const { server, log } = await startWithLog({ server: { batchAppend }, deadlines });
    const [stream, proposed] = [newStream(), events(2)];
    server.faults.nextAppends(fault);

    const error = await rejectionOf(log.append(stream, NO_STREAM, proposed));

    expect(error).toBeInstanceOf(EventLogError);
    expect(error).toMatchObject({ kind, canRetry: true });
    expect(server.log.stream(stream)?.events.length ?? 0).toBe(wasWritten === 'written' ? 2 : 0);
    expect(await written(log, stream, NO_STREAM, proposed)).toMatchObject({ lastRevision: 1 });
    expect(server.log.stream(stream)?.events).toHaveLength(2);
    expect(server.faults.struck.get(`append ${fault}`)).toBe(1);
  });

  it('for want of an answer fails when its time is over, and not before', async () => {
    const { server, log } = await startWithLog({ server: { batchAppend }, deadlines: { appendMs: WAITED_FOR_MS } });
    server.faults.nextAppends('stall');
    const began = performance.now();
    await rejectionOf(log.append(newStream(), NO_STREAM, events(1)));
    expect(performance.now() - began).toBeGreaterThan(WAITED_FOR_MS / 2);
  });

  it('fails no other that is under way', async () => {
    const { server, log } = await startWithLog({ server: { batchAppend } });
    const doomed = newStream();
    server.faults.onAppend = ({ stream }) => (stream === doomed ? 'internal' : 'ok');
    server.faults.appendDelayMs = 20;
    const others = Array.from({ length: 30 }, () => log.append(newStream(), NO_STREAM, events(1)));
    await rejectionOf(log.append(doomed, NO_STREAM, events(1)));
    for (const result of await Promise.all(others)) expect(result.type).toBe('appended');
  });

  it('is invalid for a stream that was deleted for ever', async () => {
    const { server, log } = await startWithLog({ server: { batchAppend } });
    const stream = newStream();
    await written(log, stream, NO_STREAM, events(1));
    server.log.tombstone(stream, 'any');
    expect(await rejectionOf(log.append(stream, at(0), events(1)))).toMatchObject({ kind: 'invalid', canRetry: false });
  });

  it('is invalid where the server takes less at once', async () => {
    const { server, log } = await startWithLog({
      server: { batchAppend, log: new StoredLog({ appendBytesMax: 500 }) },
    });
    const [stream, long] = [newStream(), { ...event(), data: JSON.stringify('x'.repeat(500)) }];
    expect(await rejectionOf(log.append(stream, NO_STREAM, [long]))).toMatchObject({ kind: 'invalid' });
    expect(await written(log, stream, NO_STREAM, events(1))).toMatchObject({ lastRevision: 0 });
    expect(server.log.stream(stream)?.events).toHaveLength(1);
  });
});

describe('an append whose outcome the server does not know', () => {
  it('is settled by what the stream has: all of it is written', async () => {
    const { server, log, lines } = await startWithLog();
    const [stream, proposed] = [newStream(), events(2)];
    server.faults.nextAppends('store-and-commit-timeout');
    const result = await written(log, stream, NO_STREAM, proposed);
    expect(result.position).toBe((await collect(log.readStream(stream))).at(-1)?.position);
    expect(lines.warnings).toEqual([]);
  });

  it('is settled as a conflict where another has the place, or only a part is there', async () => {
    const { server, log } = await startWithLog();
    const [stream, proposed] = [newStream(), events(2)];
    await written(log, stream, NO_STREAM, proposed);
    for (const other of [events(2), [...proposed, event()]]) {
      server.faults.nextAppends('commit-timeout');
      expect(await log.append(stream, NO_STREAM, other)).toEqual({ type: 'conflict', actualRevision: 1 });
    }
  });

  it('stays unknown where the stream cannot be read', async () => {
    const { server, log, lines } = await startWithLog();
    const [stream, proposed] = [newStream(), events(2)];
    server.faults.nextAppends('store-and-commit-timeout');
    server.faults.nextReads('refuse');
    expect(await rejectionOf(log.append(stream, NO_STREAM, proposed))).toMatchObject({ kind: 'ambiguous' });
    expect(lines.warnings).toHaveLength(1);
  });

  it('because it came while its first try was under way succeeds with it', async () => {
    const { server, log } = await startWithLog();
    const [stream, proposed] = [newStream(), events(2)];
    const [seen, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<AppendFault>()];
    server.faults.onAppend = () => {
      seen.resolve();
      return gate.promise;
    };
    const first = log.append(stream, NO_STREAM, proposed);
    await seen.promise;
    const came = server.calls.appends;
    const retry = log.append(stream, NO_STREAM, proposed);
    await until(() => server.calls.appends > came);
    gate.resolve('ok');
    expect(await retry).toEqual(await first);
    expect(server.log.stream(stream)?.events).toHaveLength(2);
  });
});

it('appends that are tried again until they are answered are written exactly once each, whatever becomes of their answers', async () => {
  const { server, log } = await startWithLog({ deadlines: { appendMs: 500 } });
  const chance = 0.04;
  server.faults.byChance({
    seed: 3,
    append: {
      'lose-ack': chance,
      'lose-ack-cancelled': chance,
      'store-and-cut': chance,
      'store-and-commit-timeout': chance,
      'store-and-stall': chance,
      cut: chance,
      refuse: chance,
      busy: chance,
      internal: chance,
    },
  });
  let retries = 0;
  const persist = async (stream: StreamName, expected: number, proposed: readonly ProposedEvent[]) => {
    for (;;)
      try {
        return await log.append(stream, at(expected), proposed);
      } catch (error) {
        expect((error as EventLogError).canRetry).toBe(true);
        retries++;
      }
  };
  const streams = Array.from({ length: 8 }, newStream);
  const written = await Promise.all(
    streams.map(async (stream) => {
      const ids: string[] = [];
      for (let round = 0; round < 25; round++) {
        const proposed = events(2);
        const result = await persist(stream, ids.length - 1, proposed);
        ids.push(...idsOf(proposed));
        expect(result).toMatchObject({ type: 'appended', lastRevision: ids.length - 1 });
      }
      return ids;
    }),
  );
  expect(streams.map((stream) => server.log.stream(stream)?.events.map(({ id }) => id))).toEqual(written);
  expect(retries).toBeGreaterThan(20);
});

describe('the client of appends', () => {
  it('is made anew after an error that nobody knows', async () => {
    const { server, log, lines } = await startWithLog({ server: { batchAppend: false } });
    await written(log, newStream(), NO_STREAM, events(1));
    lines.warnings.length = 0;
    const before = new Set(server.calls.list('Append').map(({ connectionName }) => connectionName));
    server.faults.nextAppends('internal');
    await rejectionOf(log.append(newStream(), NO_STREAM, events(1)));
    await written(log, newStream(), NO_STREAM, events(1));
    expect(lines.warnings).toEqual(['the EventStoreDB client is made anew']);
    expect(before).not.toContain(server.calls.list('Append').at(-1)?.connectionName);
  });

  it('is made anew after a few calls in a row ran out of time, not after one', async () => {
    const { server, log, lines } = await startWithLog({ deadlines: { appendMs: WAITED_FOR_MS } });
    for (let count = 1; count <= EVENTSTOREDB_LIMITS.suspicionsMax; count++) {
      expect(lines.warnings).toEqual([]);
      server.faults.nextAppends('stall');
      await rejectionOf(log.append(newStream(), NO_STREAM, events(1)));
    }
    expect(lines.warnings).toEqual(['the EventStoreDB client is made anew']);
  });

  it('that is made anew again and again is told once, until the server has answered anybody', async () => {
    const server = endedLater(await startFakeEventStore());
    const lines = new Lines();
    const { connectionString } = server;
    const log = await open({ connectionString, logger: lines, deadlines: { appendMs: 100 } });
    await log.startFaults;
    lines.warnings.length = 0;
    const stalled = async (): Promise<void> => {
      for (let count = 1; count <= EVENTSTOREDB_LIMITS.suspicionsMax; count++) {
        server.faults.nextAppends('stall');
        await rejectionOf(log.append(newStream(), NO_STREAM, events(1)));
      }
    };
    await stalled();
    await stalled();
    const madeAnew = 'the EventStoreDB client is made anew';
    expect([lines.warnings, lines.debugs]).toEqual([[madeAnew], [madeAnew]]);
    await log.headPosition();
    await stalled();
    expect([lines.warnings, lines.debugs]).toEqual([[madeAnew, madeAnew], [madeAnew]]);
  });

  it('never asks for capabilities, whose failure would poison it', async () => {
    const { server, log } = await startWithLog();
    server.faults.nextCapabilities('internal', 'internal');
    await written(log, newStream(), NO_STREAM, events(1));
    expect([...new Set(server.calls.list().map(({ rpc }) => rpc))].sort()).toEqual(['BatchAppend', 'Read']);
  });

  it('appends one after the other go at most 64 at once, and none waits for a turn for ever', async () => {
    // Turns end before the first appends do: who waited for one was never sent.
    const deadlines = { appendMs: 3 * WAITED_FOR_MS, appendTurnMs: WAITED_FOR_MS };
    const { server, log } = await startWithLog({ deadlines });
    server.faults.onAppend = () => 'stall';
    const seen = server.calls.appends;
    const kinds = await Promise.all(
      Array.from({ length: EVENTSTOREDB_LIMITS.appendsInFlightMax + 6 }, () =>
        rejectionOf(log.append(newStream(), NO_STREAM, events(1))),
      ),
    );
    expect(kinds.map((error) => (error as EventLogError).kind).sort()).toEqual([
      ...Array<string>(EVENTSTOREDB_LIMITS.appendsInFlightMax).fill('ambiguous'),
      ...Array<string>(6).fill('unavailable'),
    ]);
    expect(server.calls.appends - seen).toBe(EVENTSTOREDB_LIMITS.appendsInFlightMax);
  });
});

describe('what is appended', () => {
  it('is stored as the very bytes of its text, under the content type of JSON', async () => {
    const { server, log } = await startWithLog();
    const [stream, data, metadata] = [newStream(), '{ "b": 1.0,\n "a":10e2, "ü":"\\u00e9" }', ' { } '];
    await written(log, stream, NO_STREAM, [{ ...event(), data, metadata }]);
    const [stored] = server.log.stream(stream)?.events ?? [];
    expect(stored && textOf(stored)).toBe(data);
    expect(stored && Buffer.from(stored.metadata).toString()).toBe(metadata);
    expect(stored?.contentType).toBe('application/json');
  });

  it('comes back as text when it is not JSON, for who decodes it to refuse', async () => {
    const { log } = await startWithLog();
    const stream = newStream();
    await written(log, stream, NO_STREAM, [{ ...event(), data: '{"cut' }]);
    expect((await collect(log.readStream(stream)))[0]?.data).toBe('{"cut');
  });

  it.each([
    ['said to be no JSON', 'application/octet-stream', Buffer.from('{}')],
    ['not UTF-8', 'application/json', Buffer.of(0x7b, 0xff, 0x7d)],
  ])('and is %s comes as an empty text, for who decodes it to refuse', async (_, contentType, data) => {
    const { server, log } = await startWithLog();
    const stream = newStream();
    server.log.append(stream, -1, [
      { id: eventId(newId()), type: 'X', contentType, data, metadata: Buffer.from('{}') },
    ]);
    expect(await collect(log.readStream(stream))).toMatchObject([{ type: 'X', data: '', metadata: '{}', revision: 0 }]);
  });
});

it('a stream whose events are hidden is not read as though it began later', async () => {
  const { server, log } = await startWithLog();
  const stream = newStream();
  await written(log, stream, NO_STREAM, events(5));
  server.setMetadata(stream, { $maxCount: 2 });
  for (const options of [{}, { direction: 'backwards' as const }])
    expect(await rejectionOf(collect(log.readStream(stream, options)))).toMatchObject({
      kind: 'invalid',
      message: expect.stringContaining('$maxCount'),
    });
  expect(await collect(log.readStream(stream, { direction: 'backwards', limit: 2 }))).toHaveLength(2);
});

describe('a log whose server is away', () => {
  it('opens at once, fails what is asked as unavailable, and works when the server is there', async () => {
    const { server, log: earlier } = await startWithLog();
    await earlier.close();
    await server.kill();
    const log = await open({ connectionString: server.connectionString });
    const stream = newStream();
    expect(await rejectionOf(log.append(stream, NO_STREAM, events(1)))).toMatchObject({ kind: 'unavailable' });
    expect(await rejectionOf(collect(log.readStream(stream)))).toMatchObject({ kind: 'unavailable' });
    expect(await rejectionOf(log.headPosition())).toMatchObject({ kind: 'unavailable' });
    await server.restart();
    let result: unknown = null;
    await until(() => {
      if (result === null) {
        result = 'asked';
        log.append(stream, NO_STREAM, events(1)).then(
          (answer) => (result = answer),
          () => (result = null),
        );
      }
      return typeof result === 'object' && result !== null;
    });
    expect(result).toMatchObject({ type: 'appended', lastRevision: 0 });
    expect(await log.startFaults).toEqual([]);
  });

  it('refuses to open where it is to wait for the server', async () => {
    const { server, log: earlier } = await startWithLog();
    await earlier.close();
    await server.kill();
    const error = await rejectionOf(open({ connectionString: server.connectionString, waitForServer: true }));
    expect(error).toMatchObject({ name: 'EventLogError', kind: 'unavailable' });
  });
});

describe('a log that is closed', () => {
  it('has waited for the appends under way', async () => {
    const { server, log } = await startWithLog();
    server.faults.appendDelayMs = 100;
    const [stream, proposed] = [newStream(), events(2)];
    const appending = log.append(stream, NO_STREAM, proposed);
    await log.close();
    expect(server.log.stream(stream)?.events).toHaveLength(2);
    expect(await appending).toMatchObject({ type: 'appended' });
  });

  it('has waited no longer than it may for an append that is not answered', async () => {
    const { server, log } = await startWithLog({ deadlines: { closeMs: 50, appendMs: WAITED_FOR_MS } });
    server.faults.nextAppends('stall');
    const failing = rejectionOf(log.append(newStream(), NO_STREAM, events(1)));
    let isAnswered = false;
    void failing.then(() => {
      isAnswered = true;
    });
    await log.close();
    expect(isAnswered).toBe(false);
    expect(await failing).toMatchObject({ kind: 'ambiguous', message: expect.stringContaining('closed') });
  });

  it('lets go of its connections, also of clients that were replaced', async () => {
    const { server, log } = await startWithLog();
    log.subscribeAll({ after: null, onEvents: () => undefined });
    server.faults.nextAppends('internal', 'lose-ack', 'cut');
    for (let count = 0; count < 3; count++) await rejectionOf(log.append(newStream(), NO_STREAM, events(1)));
    await written(log, newStream(), NO_STREAM, events(1));
    expect(server.connections).toBeGreaterThan(0);
    await log.close();
    await until(() => server.connections === 0);
  });
});

it('a read that the server does not finish fails after a bounded silence, with what came before it handed over', async () => {
  const { server, log } = await startWithLog({ deadlines: { stallMs: WAITED_FOR_MS } });
  const stream: StreamName = newStream();
  await written(log, stream, NO_STREAM, events(5));
  server.faults.nextReads({ silentAfterEvents: 3 });
  const seen: number[] = [];
  const reading = (async () => {
    for await (const { revision } of log.readStream(stream)) seen.push(revision);
  })();
  expect(await rejectionOf(reading)).toMatchObject({
    kind: 'unavailable',
    message: expect.stringContaining('stallMs'),
  });
  expect(seen).toEqual([0, 1, 2]);
});
