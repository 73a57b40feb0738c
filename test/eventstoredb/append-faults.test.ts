import { describe, expect, test } from 'vitest';
import type { AppendFault } from './fault-kinds.ts';
import { StoredLog } from './stored-log.ts';
import { CREDENTIALS, connect, counted, idOf, rejectionOf, startWithClient, until } from './with-client.ts';

const STREAM = 'account-1';

interface Row {
  readonly fault: AppendFault;
  /** What the client makes of it, over Append and over BatchAppend. */
  readonly append: string;
  readonly batch: string;
  readonly stored: boolean;
}

const ROWS: readonly Row[] = [
  { fault: 'refuse', append: 'unavailable', batch: 'unavailable', stored: false },
  { fault: 'lose-ack', append: 'unavailable', batch: 'unavailable', stored: true },
  { fault: 'lose-ack-cancelled', append: 'cancelled', batch: 'cancelled', stored: true },
  { fault: 'busy', append: 'unavailable', batch: 'unknown', stored: false },
  { fault: 'not-ready', append: 'unavailable', batch: 'unknown', stored: false },
  { fault: 'internal', append: 'unknown', batch: 'unknown', stored: false },
  { fault: 'unknown', append: 'unknown', batch: 'unknown', stored: false },
  { fault: 'commit-timeout', append: 'timeout', batch: 'deadline-exceeded', stored: false },
  { fault: 'store-and-commit-timeout', append: 'timeout', batch: 'deadline-exceeded', stored: true },
  { fault: 'access-denied', append: 'access-denied', batch: 'access-denied', stored: false },
  { fault: 'cut', append: 'unavailable', batch: 'unavailable', stored: false },
  { fault: 'store-and-cut', append: 'unavailable', batch: 'unavailable', stored: true },
  { fault: 'not-leader', append: 'not-leader', batch: 'not-leader', stored: false },
];

describe.each([
  { rpc: 'append' as const, options: { expectedRevision: 'no_stream' as const, ...CREDENTIALS } },
  { rpc: 'batch' as const, options: { expectedRevision: 'no_stream' as const } },
])('a fault of one append by $rpc', ({ rpc, options }) => {
  test.each(ROWS)('$fault reaches the client as its error, stored: $stored', async (row) => {
    const { store, client } = await startWithClient();
    store.faults.nextAppends(row.fault);
    const error = await rejectionOf(client.appendToStream(STREAM, counted(1), options));
    // A connection that is reset is CANCELLED or UNAVAILABLE, by where the client was.
    if (row.fault.endsWith('cut')) expect(['unavailable', 'cancelled', 'unknown']).toContain(error.type);
    else expect(error.type).toBe(row[rpc]);
    expect(store.log.stream(STREAM)?.events.map(({ id }) => id) ?? []).toEqual(row.stored ? [idOf(1)] : []);
    expect(store.faults.struck.get(`append ${row.fault}`)).toBe(1);
    // The next append meets no fault; where the first was stored it is a retry.
    const again = await client.appendToStream(STREAM, counted(1), options);
    expect(again).toMatchObject({ success: true, nextExpectedRevision: 0n });
    expect(store.log.stream(STREAM)?.events).toHaveLength(1);
  });

  test.each([
    { fault: 'stall', stored: 0 },
    { fault: 'store-and-stall', stored: 1 },
  ] as const)('$fault is never answered, and others are', async ({ fault, stored }) => {
    const { store, client } = await startWithClient();
    store.faults.nextAppends(fault);
    let settled = false;
    const stalled = client.appendToStream(STREAM, counted(1), options).finally(() => {
      settled = true;
    });
    stalled.catch(() => {});
    await until(() => store.faults.struck.get(`append ${fault}`) === 1);
    await client.appendToStream('account-2', counted(2), options);
    expect(settled).toBe(false);
    expect(store.log.stream(STREAM)?.events.length ?? 0).toBe(stored);
    await store.kill();
    await expect(stalled).rejects.toThrow();
  });
});

test('a call by Append that is stalled ends at its deadline', async () => {
  const { store, client } = await startWithClient();
  store.faults.nextAppends('stall');
  const append = client.appendToStream(STREAM, counted(1), { deadline: 100, ...CREDENTIALS });
  await expect(append).rejects.toMatchObject({ type: 'deadline-exceeded' });
});

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

test('a promise of the test holds an append back until it is kept', async () => {
  const { store, client } = await startWithClient();
  const gate = Promise.withResolvers<AppendFault>();
  let asked = 0;
  store.faults.onAppend = ({ stream }) => {
    asked += 1;
    return stream === STREAM ? gate.promise : 'ok';
  };
  const held = client.appendToStream(STREAM, counted(1), CREDENTIALS);
  await until(() => asked >= 1);
  await client.appendToStream('account-2', counted(2), CREDENTIALS);
  expect(store.log.stream(STREAM)).toBeUndefined();
  gate.resolve('ok');
  await expect(held).resolves.toMatchObject({ success: true });
});

test('a not-leader answer names the leader, and the client goes there', async () => {
  const { store, client } = await startWithClient();
  const { store: leader } = await startWithClient({ log: store.log });
  store.faults.leader = { host: '127.0.0.1', port: leader.port };
  const append = () => client.appendToStream(STREAM, counted(1), { expectedRevision: 'no_stream', ...CREDENTIALS });
  await expect(append()).rejects.toMatchObject({
    type: 'not-leader',
    leader: { address: '127.0.0.1', port: leader.port },
  });
  await expect(append()).resolves.toMatchObject({ success: true });
  expect(leader.calls.list('Append')).toHaveLength(1);
});

test('a slow server stores after its delay', async () => {
  const { store, client } = await startWithClient();
  store.faults.appendDelayMs = 150;
  const begunMs = performance.now();
  await client.appendToStream(STREAM, counted(1), CREDENTIALS);
  expect(performance.now() - begunMs).toBeGreaterThan(140);
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
