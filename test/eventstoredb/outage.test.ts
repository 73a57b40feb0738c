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

test('a server alone says of itself that it leads', async () => {
  const { store } = await startWithClient();
  const client = connect(`esdb+discover://127.0.0.1:${store.port}?tls=false`);
  await appendCounted(client, STREAM, 1);
  expect(store.log.stream(STREAM)?.events).toHaveLength(1);
});
