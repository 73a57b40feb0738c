import { expect, test } from 'vitest';
import { makeTlsCertificate } from './tls-certificate.ts';
import { appendCounted, CREDENTIALS, collect, connect, counted, rejectionOf, startWithClient } from './with-client.ts';

const STREAM = 'account-1';

test('who may not append is denied, by either RPC and for deletions, and may read', async () => {
  const { store, client } = await startWithClient();
  await appendCounted(client, STREAM, 1);
  store.faults.mayAppend = false;
  const denied = { type: 'access-denied' };
  expect(await rejectionOf(client.appendToStream(STREAM, counted(1), CREDENTIALS))).toMatchObject(denied);
  expect(await rejectionOf(client.appendToStream(STREAM, counted(1)))).toMatchObject(denied);
  expect(await rejectionOf(client.deleteStream(STREAM))).toMatchObject(denied);
  expect(await rejectionOf(client.tombstoneStream(STREAM))).toMatchObject(denied);
  expect(await collect(client.readStream(STREAM))).toHaveLength(1);
});

test('who may not read $all is denied reads and subscriptions of it, and may read streams', async () => {
  const { store, client } = await startWithClient();
  await appendCounted(client, STREAM, 1);
  store.faults.mayReadAll = false;
  expect(await rejectionOf(collect(client.readAll()))).toMatchObject({ type: 'access-denied' });
  expect(await rejectionOf(collect(client.subscribeToAll()))).toMatchObject({ type: 'access-denied' });
  expect(await collect(client.readStream(STREAM))).toHaveLength(1);
});

test('without TLS the client keeps its credentials to itself', async () => {
  const { store } = await startWithClient();
  await connect(`esdb://proxy:test-only@127.0.0.1:${store.port}?tls=false`).appendToStream(STREAM, counted(1));
  expect(store.calls.list().map(({ authorization }) => authorization)).toEqual([null, null]);
});

test('over TLS credentials arrive, and users are told apart', async () => {
  const tls = makeTlsCertificate();
  const { store } = await startWithClient({ tls, users: { proxy: 'test-only', auditor: 'other' } });
  expect(store.connectionString).toBe(`esdb://127.0.0.1:${store.port}?tls=true`);
  const as = (user: string) =>
    connect(`esdb://${user}localhost:${store.port}?tls=true&tlsCAFile=${tls.certificateFile}`);
  const append = (user: string, ...ids: number[]) => as(user).appendToStream(STREAM, counted(...ids));
  await append('proxy:test-only@', 1);
  expect(store.calls.list('BatchAppend').at(-1)?.authorization).toBe(`Basic ${btoa('proxy:test-only')}`);
  expect(await rejectionOf(append('proxy:wrong@', 2))).toMatchObject({ type: 'access-denied' });
  expect(await rejectionOf(append('', 2))).toMatchObject({ type: 'access-denied' });
  expect(await rejectionOf(collect(as('').readAll()))).toMatchObject({ type: 'access-denied' });
  // Credentials of one call stand above those of the client.
  const credentials = { username: 'auditor', password: 'other' };
  await as('proxy:wrong@').appendToStream(STREAM, counted(2), { credentials });
  expect(store.calls.list('Append').at(-1)?.authorization).toBe(`Basic ${btoa('auditor:other')}`);
  expect(store.log.stream(STREAM)?.events).toHaveLength(2);
});

test('a certificate of nobody the client trusts is refused', async () => {
  const { store } = await startWithClient({ tls: makeTlsCertificate() });
  const other = makeTlsCertificate();
  const client = connect(`esdb://localhost:${store.port}?tls=true&tlsCAFile=${other.certificateFile}`);
  await expect(client.appendToStream(STREAM, counted(1), CREDENTIALS)).rejects.toThrow();
  expect(store.calls.count).toBe(0);
});
