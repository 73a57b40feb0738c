import { expect, test } from 'vitest';
import type { AppendFault } from './fault-kinds.ts';
import { StoredLog } from './stored-log.ts';
import { CREDENTIALS, connect, counted, idOf, rejectionOf, startWithClient, until } from './with-client.ts';

const STREAM = 'account-1';

test('a batch that arrives after its deadline is not stored: the deadline is a time of the client', async () => {
  let aheadMs = 0;
  const { store, client } = await startWithClient({ log: new StoredLog({ now: () => Date.now() + aheadMs }) });
  const append = () => client.appendToStream(STREAM, counted(1), { expectedRevision: 'no_stream' });
  aheadMs = 11_000;
  await expect(append()).rejects.toMatchObject({ type: 'deadline-exceeded' });
  expect(store.log.stream(STREAM)).toBeUndefined();
  aheadMs = 9_000;
  await expect(append()).resolves.toMatchObject({ success: true });
});

test("the test's function sees the append and decides before the queue does", async () => {
  const { store, client } = await startWithClient();
  const seen: unknown[] = [];
  store.faults.nextAppends('refuse');
  store.faults.onAppend = ({ stream, expected, events, rpc }) => {
    seen.push([stream, expected, events.map(({ id }) => id), rpc]);
    return seen.length === 1 ? 'busy' : 'ok';
  };
  const append = () => client.appendToStream(STREAM, counted(1), { expectedRevision: 'no_stream', ...CREDENTIALS });
  await expect(append()).rejects.toThrow('Server Is Busy');
  await expect(append()).rejects.toThrow('going away');
  await expect(append()).resolves.toMatchObject({ success: true });
  expect(seen).toEqual(Array(3).fill([STREAM, -1, [idOf(1)], 'append']));
});

test('a kill while an append is held back stores nothing of it', async () => {
  const { store, client } = await startWithClient();
  const gate = Promise.withResolvers<AppendFault>();
  let asked = 0;
  store.faults.onAppend = () => {
    asked += 1;
    return gate.promise;
  };
  const lost = rejectionOf(client.appendToStream(STREAM, counted(1), CREDENTIALS));
  await until(() => asked >= 1);
  await store.restart();
  await lost;
  store.faults.clear();
  gate.resolve('ok');
  await connect(store.connectionString).appendToStream('account-2', counted(2), CREDENTIALS);
  expect(store.log.stream(STREAM)).toBeUndefined();
});

test('faults by chance are the same for the same seed, and about as many as was asked for', async () => {
  const { store, client } = await startWithClient();
  const drawn = async (seed: number): Promise<string> => {
    store.faults.byChance({ seed, append: { refuse: 0.2, 'lose-ack': 0.2 } });
    const answers: string[] = [];
    for (let index = 0; index < 100; index += 1) {
      const append = client.appendToStream('account-1', counted(index), CREDENTIALS);
      answers.push(await append.then(() => '.').catch(() => 'x'));
    }
    return answers.join('');
  };
  const first = await drawn(7);
  expect(await drawn(7)).toBe(first);
  expect(await drawn(8)).not.toBe(first);
  const faults = first.replaceAll('.', '').length;
  expect(faults).toBeGreaterThan(20);
  expect(faults).toBeLessThan(60);
});
