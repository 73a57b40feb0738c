import { expect, test } from 'vitest';
import {
  appendCounted,
  CREDENTIALS,
  collect,
  connect,
  counted,
  rejectionOf,
  startWithClient,
  until,
} from './with-client.ts';

const STREAM = 'account-1';

test('a killed server refuses connections, and comes back on its port with what it stored', async () => {
  const { store, client } = await startWithClient();
  await appendCounted(client, STREAM, 3);
  const { port } = store;
  const events = store.events().map(({ id, position }) => [id, position]);
  await store.kill();
  const append = () => client.appendToStream(STREAM, counted(3), { expectedRevision: 2n, ...CREDENTIALS });
  for (let attempt = 0; attempt < 3; attempt += 1)
    expect(['unavailable', 'cancelled']).toContain((await rejectionOf(append())).type);
  await store.restart();
  expect(store.port).toBe(port);
  expect(store.events().map(({ id, position }) => [id, position])).toEqual(events);
  // The client opens another channel on its first or second call.
  await append().catch(append);
  expect(await collect(client.readStream(STREAM))).toHaveLength(4);
});

test('a kill breaks every call that is open', async () => {
  const { store, client } = await startWithClient();
  store.faults.nextAppends('stall', 'stall');
  store.faults.nextReads({ silentAfterEvents: 0 });
  let asked = 0;
  store.faults.onAppend = () => {
    asked += 1;
    return 'ok';
  };
  const open = [
    rejectionOf(client.appendToStream(STREAM, counted(1), CREDENTIALS)),
    rejectionOf(client.appendToStream(STREAM, counted(2))),
    rejectionOf(collect(client.readAll())),
  ];
  await until(() => asked === 2 && store.calls.list('Read').length === 1);
  await store.kill();
  // Broken by the kill: what the client gives up by itself, at its own deadline, is `deadline-exceeded`.
  for (const { type } of await Promise.all(open)) expect(['unavailable', 'cancelled']).toContain(type);
  expect(store.connections).toBe(0);
});

test('cut connections are reset while the server goes on', async () => {
  const { store, client } = await startWithClient();
  await appendCounted(client, STREAM, 1);
  expect(store.connections).toBe(1);
  store.faults.nextReads({ silentAfterEvents: 0 });
  const read = rejectionOf(collect(client.readAll()));
  await until(() => store.calls.list('Read').length === 1);
  store.cutConnections();
  await read;
  const other = connect(store.connectionString);
  await expect(other.appendToStream(STREAM, counted(1), CREDENTIALS)).resolves.toMatchObject({ success: true });
});

test('a kill and restart may be called at any time, twice too', async () => {
  const { store, client } = await startWithClient();
  await store.kill();
  await store.kill();
  await store.restart();
  await store.restart();
  await appendCounted(connect(store.connectionString), STREAM, 1);
  await store.stop();
  await store.stop();
  expect((await rejectionOf(client.appendToStream(STREAM, counted(2), CREDENTIALS))).type).toBe('unavailable');
});

test('the client keeps an INTERNAL answer about capabilities for ever, and forgets UNAVAILABLE', async () => {
  const { store, client } = await startWithClient();
  const append = (by = client) => by.appendToStream(STREAM, counted(1), { expectedRevision: 'no_stream' });
  store.faults.nextCapabilities('refuse', 'internal');
  // Raw errors of gRPC: no type, a code.
  expect(await rejectionOf(append())).toMatchObject({ code: 14 });
  expect(await rejectionOf(append())).toMatchObject({ code: 13 });
  expect(await rejectionOf(append())).toMatchObject({ code: 13 });
  expect(store.calls.list('GetSupportedMethods')).toHaveLength(2);
  await expect(append(connect(store.connectionString))).resolves.toMatchObject({ success: true });
});

test.each([
  { name: 'does not know the question about capabilities', unimplemented: true },
  { name: 'does not know BatchAppend', unimplemented: false },
])('a server that $name gets plain appends', async ({ unimplemented }) => {
  const { store, client } = await startWithClient({ batchAppend: unimplemented });
  if (unimplemented) store.faults.nextCapabilities('unimplemented');
  await appendCounted(client, STREAM, 1);
  expect(store.calls.list('Append')).toHaveLength(1);
});

test('nodes that share a log see the same, and one of them leads', async () => {
  const { store: leader } = await startWithClient();
  const { store: follower, client } = await startWithClient({ log: leader.log });
  follower.faults.leader = { host: '127.0.0.1', port: leader.port };
  await appendCounted(connect(leader.connectionString), STREAM, 3);
  expect(await collect(client.readStream(STREAM))).toHaveLength(3);
  const strict = collect(client.readStream(STREAM, { requiresLeader: true }));
  expect(await rejectionOf(strict)).toMatchObject({ type: 'not-leader' });
});

test('gossip leads a client that discovers to the leader', async () => {
  const { store: leader } = await startWithClient();
  const { store: follower } = await startWithClient({ log: leader.log });
  const { store: dead } = await startWithClient();
  await dead.kill();
  for (const node of [leader, follower])
    node.gossip.members = [
      { host: '127.0.0.1', port: follower.port, state: 'follower', alive: true },
      { host: '127.0.0.1', port: dead.port, state: 'leader', alive: false },
      { host: '127.0.0.1', port: leader.port, state: 'leader', alive: true },
    ];
  const hosts = [dead, follower].map(({ port }) => `127.0.0.1:${port}`).join(',');
  for (const url of [`esdb+discover://127.0.0.1:${follower.port}?tls=false`, `esdb://${hosts}?tls=false`])
    await connect(url).appendToStream(STREAM, counted(1), CREDENTIALS);
  expect(leader.calls.list('Append')).toHaveLength(2);
  expect(follower.calls.list('Append')).toHaveLength(0);
  expect(follower.calls.list('Gossip')).toHaveLength(2);
});

test('a server alone says of itself that it leads', async () => {
  const { store } = await startWithClient();
  const client = connect(`esdb+discover://127.0.0.1:${store.port}?tls=false`);
  await appendCounted(client, STREAM, 1);
  expect(store.log.stream(STREAM)?.events).toHaveLength(1);
});
