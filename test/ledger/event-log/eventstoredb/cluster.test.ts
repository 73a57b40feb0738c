import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { NO_STREAM } from '../../../../contracts/ids.ts';
import { type FakeEventStore, startFakeEventStore } from '../../../eventstoredb/fake-event-store.ts';
import { StoredLog } from '../../../eventstoredb/stored-log.ts';
import { makeTlsCertificate } from '../../../eventstoredb/tls-certificate.ts';
import { rejectionOf, until } from '../../../eventstoredb/with-client.ts';
import { endedLater } from '../../../fixtures/ended-later.ts';
import { collect, events, newStream, written } from '../../../fixtures/ledger/shared-log.ts';
import { open } from './log-under-test.ts';

/** Two nodes with one log, of which the first leads. */
async function startCluster(): Promise<[leader: FakeEventStore, follower: FakeEventStore]> {
  const log = new StoredLog();
  const nodes: [FakeEventStore, FakeEventStore] = [
    await startFakeEventStore({ log }),
    await startFakeEventStore({ log }),
  ];
  onTestFinished(async () => {
    for (const node of nodes) await node.stop();
    log.close();
  });
  lead(nodes[0], nodes[1]);
  return nodes;
}

function lead(leader: FakeEventStore, follower: FakeEventStore): void {
  const host = '127.0.0.1';
  const members = [
    { host, port: leader.port, state: 'leader', alive: true },
    { host, port: follower.port, state: 'follower', alive: true },
  ] as const;
  for (const node of [leader, follower]) node.gossip.members = members;
  leader.faults.leader = null;
  follower.faults.leader = { host, port: leader.port };
}

/** A port of a machine that stands still: connections are accepted, and nothing is ever answered. */
async function muteSeed(): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => sockets.add(socket.on('error', () => undefined))).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

describe('a cluster', () => {
  it('is found by one of its nodes; appends and reads go to the leader', async () => {
    const [leader, follower] = await startCluster();
    const log = await open({ connectionString: `esdb+discover://127.0.0.1:${follower.port}?tls=false` });
    const stream = newStream();
    await written(log, stream, NO_STREAM, events(2));
    expect(await collect(log.readStream(stream))).toHaveLength(2);
    expect(leader.calls.list('BatchAppend').length).toBeGreaterThan(0);
    expect(follower.calls.list('BatchAppend')).toEqual([]);
  });

  it('serves subscriptions from the node that is preferred, and appends from the leader all the same', async () => {
    const [leader, follower] = await startCluster();
    const preference = 'tls=false&nodePreference=follower';
    const log = await open({ connectionString: `esdb+discover://127.0.0.1:${leader.port}?${preference}` });
    const seen: number[] = [];
    log.subscribeAll({ after: null, onEvents: ({ length }) => void seen.push(length) });
    const stream = newStream();
    await written(log, stream, NO_STREAM, events(2));
    await until(() => seen.reduce((sum, length) => sum + length, 0) === 2);
    expect(follower.calls.list('Subscribe')).toHaveLength(1);
    expect(leader.calls.list('Subscribe')).toEqual([]);
    expect(follower.log.stream(stream)?.events).toHaveLength(2);
    // A follower would forward an append, and answer a read with what it has so far.
    const needing = (rpc: string) =>
      [...leader.calls.list(rpc), ...follower.calls.list(rpc)].map((call) => call.requiresLeader);
    expect(needing('BatchAppend')).not.toContain(false);
    expect(needing('Read')).not.toContain(false);
    expect(needing('Subscribe')).toEqual([false]);
  });

  it('whose leader changes is followed, by what a single host says too', async () => {
    const [first, second] = await startCluster();
    const log = await open({ connectionString: `esdb://127.0.0.1:${first.port}?tls=false` });
    await written(log, newStream(), NO_STREAM, events(1));
    lead(second, first);
    await written(log, newStream(), NO_STREAM, events(1));
    expect(second.calls.list('BatchAppend').length).toBeGreaterThan(0);
    expect(await log.headPosition()).not.toBeNull();
  });

  it.each([
    ['esdb', 'down'],
    ['esdb+discover', 'down'],
    ['esdb+discover', 'mute'],
  ])('is found by %s:// with several hosts of which the first is %s, at the start and while running', async (...of) => {
    const [scheme, state] = of;
    const [first, second] = await startCluster();
    const mute = await muteSeed();
    const hosts = `127.0.0.1:${state === 'mute' ? mute : first.port},127.0.0.1:${second.port}`;
    lead(second, first);
    if (state === 'down') await first.kill();
    const log = await open({ connectionString: `${scheme}://${hosts}?tls=false` });
    expect(await log.startFaults).toEqual([]);
    await written(log, newStream(), NO_STREAM, events(1));
    // The connections are lost, and the cluster has to be found again.
    await second.restart();
    const stream = newStream();
    const proposed = events(1);
    const isDone = (work: Promise<unknown>): Promise<boolean> => work.then(Boolean, () => false);
    await expect.poll(() => isDone(written(log, stream, NO_STREAM, proposed))).toBe(true);
    await expect.poll(() => isDone(collect(log.readStream(stream)))).toBe(true);
    expect(await collect(log.readStream(stream))).toHaveLength(1);
  });

  it('of which no node answers fails calls as unavailable, and no process', async () => {
    const [first, second] = await startCluster();
    const discovery = 'tls=false&maxDiscoverAttempts=2&discoveryInterval=10&gossipTimeout=1';
    const hosts = `127.0.0.1:${first.port},127.0.0.1:${second.port}`;
    const log = await open({ connectionString: `esdb://${hosts}?${discovery}` });
    await log.startFaults;
    let caughtUp = 0;
    log.subscribeAll({ after: null, onEvents: () => undefined, onCaughtUp: () => caughtUp++ });
    await until(() => caughtUp === 1);
    const unhandled: unknown[] = [];
    const keep = (reason: unknown): void => void unhandled.push(reason);
    process.on('unhandledRejection', keep);
    onTestFinished(() => void process.off('unhandledRejection', keep));
    await Promise.all([first.kill(), second.kill()]);
    for (let round = 0; round < 3; round++)
      await Promise.all(
        Array.from({ length: 20 }, async () => {
          const error = await rejectionOf(log.append(newStream(), NO_STREAM, events(1)));
          expect(error).toMatchObject({ name: 'EventLogError', canRetry: true });
        }),
      );
    await Promise.all([first.restart(), second.restart()]);
    await until(() => caughtUp === 2);
    await written(log, newStream(), NO_STREAM, events(1));
    expect(unhandled).toEqual([]);
  });
});

it('TLS with credentials is taken from the connection string', async () => {
  const tls = makeTlsCertificate();
  const server = endedLater(await startFakeEventStore({ tls, users: { proxy: 'test:only' } }));
  const query = `tls=true&tlsCAFile=${tls.certificateFile}`;
  const log = await open({ connectionString: `esdb://proxy:test%3Aonly@localhost:${server.port}?${query}` });
  expect(await log.startFaults).toEqual([]);
  await written(log, newStream(), NO_STREAM, events(1));
  expect(new Set(server.calls.list().map(({ authorization }) => authorization))).toEqual(
    new Set([`Basic ${btoa('proxy:test:only')}`]),
  );
});
