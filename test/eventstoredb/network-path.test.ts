import { connect as connectSocket } from 'node:net';
import { expect, test } from 'vitest';
import { endedLater } from '../fixtures/ended-later.ts';
import { NetworkPath } from './network-path.ts';
import { appendCounted, CREDENTIALS, collect, connect, counted, startWithClient, until } from './with-client.ts';

const STREAM = 'account-1';

async function startBehindPath() {
  const { store } = await startWithClient();
  const path = endedLater(await NetworkPath.open(store.port));
  return { store, path, client: connect(`esdb://127.0.0.1:${path.port}?tls=false`) };
}

const append = (client: Awaited<ReturnType<typeof startBehindPath>>['client'], id: number, deadline: number) =>
  client.appendToStream(STREAM, counted(id), { expectedRevision: BigInt(id - 1), deadline, ...CREDENTIALS });

test('a frozen path lets nothing pass and resets nothing; thawed, it goes on', async () => {
  const { store, path, client } = await startBehindPath();
  await appendCounted(client, STREAM, 1);
  path.freeze();
  await expect(append(client, 1, 200)).rejects.toMatchObject({ type: 'deadline-exceeded' });
  expect(store.log.stream(STREAM)?.events).toHaveLength(1);
  expect(store.connections).toBe(1);
  path.thaw();
  await expect(append(client, 1, 5_000)).resolves.toMatchObject({ nextExpectedRevision: 1n });
  expect(await collect(client.readStream(STREAM))).toHaveLength(2);
});

test('a connection that is made over a frozen path hears nothing until the thaw', async () => {
  const { store, path, client } = await startBehindPath();
  path.freeze();
  await expect(append(client, 1, 200)).rejects.toMatchObject({ type: 'deadline-exceeded' });
  expect(store.calls.count).toBe(0);
  path.thaw();
  await client.appendToStream(STREAM, counted(0), { expectedRevision: 'no_stream', ...CREDENTIALS });
  expect(store.log.stream(STREAM)?.events).toHaveLength(1);
});

test('a killed server resets the connections of its path', async () => {
  const { store, path, client } = await startBehindPath();
  await appendCounted(client, STREAM, 1);
  await store.kill();
  await expect(append(client, 1, 5_000)).rejects.toThrow();
  await store.restart();
  await append(client, 1, 5_000).catch(() => append(client, 1, 5_000));
  expect(store.log.stream(STREAM)?.events).toHaveLength(2);
  expect(path.isFrozen).toBe(false);
});

test('a connection that one side closes is closed on the other', async () => {
  const { store, path } = await startBehindPath();
  const socket = connectSocket(path.port, '127.0.0.1');
  await until(() => store.connections === 1);
  socket.end();
  await until(() => store.connections === 0);
  expect(socket.errored).toBeNull();
});
