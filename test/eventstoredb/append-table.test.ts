import { type AppendExpectedRevision, type AppendResult, WrongExpectedVersionError } from '@eventstore/db-client';
import { describe, expect, test } from 'vitest';
import { StoredLog } from './stored-log.ts';
import { appendCounted, CREDENTIALS, counted, idOf, rejectionOf, startWithClient } from './with-client.ts';

const STREAM = 'account-1';

describe.each([
  { rpc: 'Append', options: CREDENTIALS },
  { rpc: 'BatchAppend', options: {} },
] as const)('Streams.$rpc', ({ rpc, options }) => {
  /** A stream with events 0, 1, 2 at revisions 0, 1, 2, and an append to it by the RPC under test. */
  async function streamOfThree() {
    const { store, client } = await startWithClient();
    await appendCounted(client, STREAM, 3);
    const append = (expectedRevision: AppendExpectedRevision, ...ids: number[]): Promise<AppendResult> =>
      client.appendToStream(STREAM, counted(...ids), { expectedRevision, ...options });
    const ids = (): string[] =>
      store
        .events()
        .filter(({ stream }) => stream === STREAM)
        .map(({ id }) => id);
    const position = (revision: number): bigint => {
      const found = store.events().find((event) => event.stream === STREAM && event.revision === revision);
      return BigInt(found?.position ?? -1);
    };
    return { store, client, append, ids, position };
  }

  test('is the RPC that these tests use', async () => {
    const { store, append } = await streamOfThree();
    const before = store.calls.list(rpc).length;
    await append(2n, 3);
    // A client has one batch call open for all its appends.
    expect(store.calls.list(rpc)).toHaveLength(rpc === 'Append' ? before + 1 : 1);
  });

  test('writes at the expected revision and answers with the last revision and its position', async () => {
    const { append, ids, position } = await streamOfThree();
    const result = await append(2n, 3, 4);
    expect(ids()).toEqual([0, 1, 2, 3, 4].map(idOf));
    expect(result).toEqual({
      success: true,
      nextExpectedRevision: 4n,
      position: { commit: position(4), prepare: position(4) },
    });
  });

  test('refuses a revision beyond the last, with the actual one', async () => {
    const { append, ids } = await streamOfThree();
    const error = await rejectionOf(append(3n, 3));
    expect(error).toBeInstanceOf(WrongExpectedVersionError);
    expect(error).toMatchObject({ type: 'wrong-expected-version', actualVersion: 2n, expectedVersion: 3n });
    expect(ids()).toHaveLength(3);
  });

  test('refuses a revision where the stream does not exist', async () => {
    const { client } = await startWithClient();
    const error = await rejectionOf(client.appendToStream(STREAM, counted(1), { expectedRevision: 0n, ...options }));
    expect(error).toMatchObject({ type: 'wrong-expected-version', actualVersion: 'no_stream', expectedVersion: 0n });
  });

  test.each([
    { name: 'an exact retry of the last', expected: 1n, retried: [2], revision: 2 },
    { name: 'a retry from the middle to the end', expected: 0n, retried: [1, 2], revision: 2 },
    { name: 'a retry from NO_STREAM', expected: 'no_stream' as const, retried: [0, 1, 2], revision: 2 },
    { name: 'a prefix of what was written', expected: 'no_stream' as const, retried: [0, 1], revision: 1 },
  ])('answers $name with the old revision and position, and writes nothing', async (row) => {
    const { append, ids, position } = await streamOfThree();
    const old = position(row.revision);
    await append(2n, 9);
    const result = await append(row.expected, ...row.retried);
    expect(result).toEqual({
      success: true,
      nextExpectedRevision: BigInt(row.revision),
      position: { commit: old, prepare: old },
    });
    expect(ids()).toEqual([0, 1, 2, 9].map(idOf));
  });

  test.each([
    { name: 'another first id', expected: 1n, ids: [7] },
    { name: 'a first id that matches and a later one that does not', expected: 0n, ids: [1, 7] },
    { name: 'more events than the first write', expected: 1n, ids: [2, 3] },
    { name: 'ids that sit elsewhere in the stream', expected: 1n, ids: [0] },
    { name: 'NO_STREAM and another id', expected: 'no_stream' as const, ids: [7] },
  ])('refuses a revision before the last with $name', async (row) => {
    const { append, ids } = await streamOfThree();
    const error = await rejectionOf(append(row.expected, ...row.ids));
    expect(error).toMatchObject({ type: 'wrong-expected-version', actualVersion: 2n });
    expect(ids()).toEqual([0, 1, 2].map(idOf));
  });

  test.each(['any', 'stream_exists'] as const)('takes %s as a retry while the ids are remembered', async (expected) => {
    const { append, ids } = await streamOfThree();
    await expect(append(expected, 1, 2)).resolves.toMatchObject({ success: true, nextExpectedRevision: 2n });
    expect(ids()).toHaveLength(3);
    const error = await rejectionOf(append(expected, 2, 3));
    expect(error).toMatchObject({ type: 'wrong-expected-version', actualVersion: 2n });
  });

  test('writes an append with ANY a second time once the memory is full of younger events', async () => {
    const { store, client } = await startWithClient({ log: new StoredLog({ recentEventsMax: 100 }) });
    const append = (...ids: number[]) => client.appendToStream(STREAM, counted(...ids), options);
    await append(0);
    for (let id = 1; id <= 49; id += 1) await append(id);
    await append(0);
    expect(store.log.stream(STREAM)?.events).toHaveLength(50);
    for (let id = 50; id <= 100; id += 1) await append(id);
    await append(0);
    expect(
      store.log
        .stream(STREAM)
        ?.events.map(({ id }) => id)
        .filter((id) => id === idOf(0)),
    ).toHaveLength(2);
  });

  test('writes an append with ANY a second time once a restart has emptied the memory', async () => {
    const { store, client, append, ids } = await streamOfThree();
    await store.restart();
    await rejectionOf(client.appendToStream('other', counted(1), { ...options }));
    await append('any', 2);
    expect(ids()).toEqual([0, 1, 2, 2].map(idOf));
  });

  test('finds a retry with a revision however long ago it was, after a restart too', async () => {
    const { store, client, append, ids } = await streamOfThree();
    await store.restart();
    await rejectionOf(client.appendToStream('other', counted(1), { ...options }));
    await expect(append('no_stream', 0)).resolves.toMatchObject({ nextExpectedRevision: 0n });
    expect(ids()).toHaveLength(3);
  });

  test('refuses STREAM_EXISTS where there is no stream and ANY nowhere', async () => {
    const { client } = await startWithClient();
    const append = (expectedRevision: AppendExpectedRevision) =>
      client.appendToStream(STREAM, counted(1), { expectedRevision, ...options });
    await expect(append('stream_exists')).rejects.toMatchObject({ type: 'wrong-expected-version' });
    await expect(append('any')).resolves.toMatchObject({ nextExpectedRevision: 0n });
  });

  test('takes the same id in another stream', async () => {
    const { client } = await streamOfThree();
    const result = await client.appendToStream('account-2', counted(1), { expectedRevision: 'no_stream', ...options });
    expect(result.nextExpectedRevision).toBe(0n);
  });

  test('goes on from the last revision after a soft deletion, and never after a tombstone', async () => {
    const { client, append } = await streamOfThree();
    await client.deleteStream(STREAM);
    await expect(append('stream_exists', 3)).rejects.toMatchObject({ type: 'stream-deleted' });
    await expect(append('no_stream', 3)).resolves.toMatchObject({ nextExpectedRevision: 3n });
    await client.tombstoneStream(STREAM);
    await expect(append(3n, 4)).rejects.toMatchObject({ type: 'stream-deleted', streamName: STREAM });
    await expect(append('any', 4)).rejects.toMatchObject({ type: 'stream-deleted', streamName: STREAM });
  });

  test('refuses an append over the limit, and names the limit', async () => {
    const { store, client } = await startWithClient();
    const event = { ...counted(1)[0], data: { text: 'x'.repeat(1_048_576) } } as never;
    const error = await rejectionOf(
      client.appendToStream(STREAM, [event], { expectedRevision: 'no_stream', ...options }),
    );
    expect(error).toMatchObject({ type: 'maximum-append-size-exceeded', maxAppendSize: 1_048_576 });
    expect(store.log.stream(STREAM)).toBeUndefined();
  });

  test('answers an append without events, and refuses one at an old revision', async () => {
    const { append } = await streamOfThree();
    await expect(append(2n)).resolves.toMatchObject({ success: true, nextExpectedRevision: 2n });
    await expect(append(1n)).rejects.toMatchObject({ type: 'wrong-expected-version' });
  });
});
