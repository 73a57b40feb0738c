import type { AppendExpectedRevision } from '@eventstore/db-client';
import { expect, test } from 'vitest';
import { appendCounted, CREDENTIALS, counted, startWithClient } from './with-client.ts';

const STREAM = 'account-1';

test.each([
  { rpc: 'Append', options: CREDENTIALS },
  { rpc: 'BatchAppend', options: {} },
])('Streams.$rpc goes on from the last revision after a soft deletion, and never after a tombstone', async (by) => {
  const { store, client } = await startWithClient();
  await appendCounted(client, STREAM, 3);
  const before = store.calls.list(by.rpc).length;
  const append = (expectedRevision: AppendExpectedRevision, id: number) =>
    client.appendToStream(STREAM, counted(id), { expectedRevision, ...by.options });
  await client.deleteStream(STREAM);
  await expect(append('stream_exists', 3)).rejects.toMatchObject({ type: 'stream-deleted' });
  await expect(append('no_stream', 3)).resolves.toMatchObject({ nextExpectedRevision: 3n });
  await client.tombstoneStream(STREAM);
  await expect(append(3n, 4)).rejects.toMatchObject({ type: 'stream-deleted', streamName: STREAM });
  await expect(append('any', 4)).rejects.toMatchObject({ type: 'stream-deleted', streamName: STREAM });
  // A client has one batch call open for all its appends.
  expect(store.calls.list(by.rpc)).toHaveLength(by.rpc === 'Append' ? before + 4 : 1);
});
