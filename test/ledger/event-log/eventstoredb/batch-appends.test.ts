import { describe, expect, it } from 'vitest';
import { NO_STREAM } from '../../../../contracts/ids.ts';
import { reopenPauseMs } from '../../../../ledger/event-log/eventstoredb/batch-appends.ts';
import { EVENTSTOREDB_LIMITS } from '../../../../ledger/event-log/eventstoredb/limits.ts';
import type { AppendFault } from '../../../eventstoredb/fault-kinds.ts';
import { rejectionOf, until } from '../../../eventstoredb/with-client.ts';
import { at, events, newStream, written } from '../../../fixtures/ledger/shared-log.ts';
import { startWithLog, WAITED_FOR_MS } from './log-under-test.ts';

const count = (length: number) => Array.from({ length }, newStream);

describe('appends over one call', () => {
  it('are many at once on it, each with its own answer, whatever their order', async () => {
    const { server, log } = await startWithLog();
    const gates = new Map<string, PromiseWithResolvers<AppendFault>>();
    server.faults.onAppend = ({ stream }) => {
      const gate = Promise.withResolvers<AppendFault>();
      gates.set(stream, gate);
      return gate.promise;
    };
    const streams = count(20);
    const answers = streams.map((stream, index) => log.append(stream, NO_STREAM, events(1 + index)));
    await until(() => gates.size === streams.length);
    for (const stream of streams.toReversed()) gates.get(stream)?.resolve('ok');
    expect((await Promise.all(answers)).map((answer) => answer.type === 'appended' && answer.lastRevision)).toEqual([
      ...streams.keys(),
    ]);
    expect(server.calls.list('BatchAppend')).toHaveLength(1);
  });

  it.each<AppendFault>(['cut', 'store-and-cut', 'refuse', 'lose-ack'])(
    'are all ambiguous when it is lost in the middle by %s, and each is written once when it comes again',
    async (fault) => {
      const { server, log } = await startWithLog();
      const gate = Promise.withResolvers<AppendFault>();
      server.faults.onAppend = () => gate.promise;
      const streams = count(10);
      const proposed = streams.map(() => events(2));
      const before = server.calls.appends;
      const failing = streams.map((stream, index) => rejectionOf(log.append(stream, NO_STREAM, proposed[index] ?? [])));
      await until(() => server.calls.appends === before + streams.length);
      server.faults.onAppend = null;
      gate.resolve(fault);
      for (const error of await Promise.all(failing)) expect(error).toMatchObject({ kind: 'ambiguous' });
      for (const [index, stream] of streams.entries()) {
        expect(await written(log, stream, NO_STREAM, proposed[index] ?? [])).toMatchObject({ lastRevision: 1 });
        expect(server.log.stream(stream)?.events).toHaveLength(2);
      }
    },
  );

  it('answered too late fail alone, and nobody takes their answer for his own', async () => {
    const { server, log } = await startWithLog({ deadlines: { appendMs: WAITED_FOR_MS } });
    const [late, gate] = [newStream(), Promise.withResolvers<AppendFault>()];
    server.faults.onAppend = ({ stream }) => (stream === late ? gate.promise : 'ok');
    let isOver = false;
    const failing = rejectionOf(log.append(late, NO_STREAM, events(3))).finally(() => {
      isOver = true;
    });
    // Others are answered meanwhile, so that the call is not taken for dead.
    const [stream, calls] = [newStream(), server.calls.list('BatchAppend').length];
    let revision = -1;
    while (!isOver) {
      await written(log, stream, at(revision), events(1));
      revision++;
    }
    expect(await failing).toMatchObject({ kind: 'ambiguous', message: expect.stringContaining('appendMs') });
    gate.resolve('ok');
    await until(() => server.log.stream(late)?.events.length === 3);
    expect(await written(log, stream, at(revision), events(1))).toMatchObject({ lastRevision: revision + 1 });
    expect(server.calls.list('BatchAppend')).toHaveLength(calls);
  });

  it.each<AppendFault>(['stall', 'store-and-stall'])(
    'that a later one overtakes, by %s, are told soon, and are written once when they come again; a conflict overtakes nobody',
    async (fault) => {
      const { server, log } = await startWithLog({ deadlines: { overtakenMs: 1 } });
      const [lost, held] = [newStream(), newStream()];
      const gate = Promise.withResolvers<AppendFault>();
      server.faults.onAppend = ({ stream }) => (stream === lost ? fault : stream === held ? gate.promise : 'ok');
      const proposed = events(2);
      const told = rejectionOf(log.append(lost, NO_STREAM, proposed));
      await written(log, newStream(), NO_STREAM, events(1));
      expect(await told).toMatchObject({ kind: 'ambiguous', message: expect.stringContaining('overtakenMs') });
      server.faults.onAppend = ({ stream }) => (stream === held ? gate.promise : 'ok');
      expect(await written(log, lost, NO_STREAM, proposed)).toMatchObject({ lastRevision: 1 });
      expect(server.log.stream(lost)?.events).toHaveLength(2);
      const waiting = written(log, held, NO_STREAM, events(1));
      for (let times = 0; times < 3; times++)
        expect(await log.append(lost, at(5), events(1))).toHaveProperty('type', 'conflict');
      gate.resolve('ok');
      expect(await waiting).toMatchObject({ lastRevision: 0 });
    },
  );

  it('that are not answered, none of them, end it: the next goes over another', async () => {
    const { server, log } = await startWithLog({ deadlines: { appendMs: WAITED_FOR_MS } });
    const calls = server.calls.list('BatchAppend').length;
    server.faults.nextAppends('stall');
    await rejectionOf(log.append(newStream(), NO_STREAM, events(1)));
    await written(log, newStream(), NO_STREAM, events(1));
    expect(server.calls.list('BatchAppend')).toHaveLength(calls + 1);
  });

  it('go to the node that is said to lead, also those under way, and none of them fails', async () => {
    const { server, log } = await startWithLog();
    const { server: leader } = await startWithLog({ server: { log: server.log } });
    const [gate, streams] = [Promise.withResolvers<AppendFault>(), count(5)];
    server.faults.onAppend = () => gate.promise;
    const before = server.calls.appends;
    const answers = streams.map((stream) => log.append(stream, NO_STREAM, events(2)));
    await until(() => server.calls.appends === before + streams.length);
    server.faults.leaderEndpoint = { host: '127.0.0.1', port: leader.port };
    gate.resolve('not-leader');
    for (const answer of await Promise.all(answers)) expect(answer).toMatchObject({ lastRevision: 1 });
    expect(streams.map((stream) => server.log.stream(stream)?.events.length)).toEqual(Array(5).fill(2));
    expect(leader.calls.list('BatchAppend').length).toBeGreaterThan(0);
  });

  it('sent from node to node for ever fail as ambiguous', async () => {
    const { server, log } = await startWithLog();
    server.faults.nextAppends(...Array<AppendFault>(EVENTSTOREDB_LIMITS.leaderHopsMax + 1).fill('not-leader'));
    expect(await rejectionOf(log.append(newStream(), NO_STREAM, events(1)))).toMatchObject({ kind: 'ambiguous' });
    await written(log, newStream(), NO_STREAM, events(1));
  });

  it('go by calls of their own where the server does not know it, also those under way, and it is asked once', async () => {
    const { server, log, lines } = await startWithLog({ server: { batchAppend: false } });
    const streams = count(10);
    const answers = await Promise.all(streams.map((stream) => log.append(stream, NO_STREAM, events(2))));
    for (const answer of answers) expect(answer).toMatchObject({ type: 'appended', lastRevision: 1 });
    expect(server.calls.list('Append').length).toBeGreaterThanOrEqual(streams.length);
    expect(lines.warnings).toEqual([expect.stringContaining('no batch append')]);
  });
});

it('a log that is to append by a call each does so, and asks for no other', async () => {
  const { server, log, lines } = await startWithLog({ batchAppend: false });
  await written(log, newStream(), NO_STREAM, events(2));
  expect(new Set(server.calls.list().map(({ rpc }) => rpc))).toEqual(new Set(['Append', 'Read']));
  expect(lines.warnings).toEqual([]);
});

describe('the call of appends', () => {
  it('is made again at once after a loss, then after pauses that grow to their bound', () => {
    const pauses = [...Array(60).keys()].map((failures) => [
      reopenPauseMs(failures, 10, 0),
      reopenPauseMs(failures, 10, 1),
    ]);
    expect(pauses.slice(0, 5)).toEqual([
      [0, 0],
      [0, 0],
      [5, 10],
      [10, 20],
      [20, 40],
    ]);
    const bound = EVENTSTOREDB_LIMITS.reopenPauseMaxMs;
    expect(pauses.slice(9)).toEqual(pauses.slice(9).map(() => [bound / 2, bound]));
  });

  it('is made again when the server is, however often it was lost', async () => {
    const { server, log } = await startWithLog();
    await server.kill();
    for (let failures = 0; failures < 4; failures++)
      expect(await rejectionOf(log.append(newStream(), NO_STREAM, events(1)))).toMatchObject({ canRetry: true });
    await server.restart();
    const [stream, proposed] = [newStream(), events(1)];
    const isWritten = () => written(log, stream, NO_STREAM, proposed).then(Boolean, () => false);
    await expect.poll(isWritten).toBe(true);
    expect(server.log.stream(stream)?.events).toHaveLength(1);
  });

  it('is no sign against the client where others were answered since the last one that was not', async () => {
    const { server, log, lines } = await startWithLog({ deadlines: { appendMs: WAITED_FOR_MS } });
    const lastBut = Array(EVENTSTOREDB_LIMITS.suspicionsMax - 1).fill('stall');
    for (const fault of [...lastBut, 'ok', 'stall']) {
      server.faults.nextAppends(fault);
      await log.append(newStream(), NO_STREAM, events(1)).catch(() => undefined);
    }
    expect(server.faults.struck.get('append stall')).toBe(EVENTSTOREDB_LIMITS.suspicionsMax);
    expect(lines.warnings).toEqual([]);
  });

  it('ends with the log, and what it had not answered is ambiguous', async () => {
    const { server, log } = await startWithLog({ deadlines: { closeMs: 50 } });
    server.faults.onAppend = () => 'stall';
    const failing = rejectionOf(log.append(newStream(), NO_STREAM, events(1)));
    await log.close();
    expect(await failing).toMatchObject({ kind: 'ambiguous' });
    await until(() => server.connections === 0);
  });
});
