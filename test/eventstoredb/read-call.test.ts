import { expect, test } from 'vitest';
import { appendCounted, appendPadded, collect, counted, rejectionOf, startWithClient } from './with-client.ts';

const STREAM = 'account-1';

/** A server with events 0 to 99 in one stream. */
async function streamOfHundred() {
  const { store, client } = await startWithClient();
  await appendCounted(client, STREAM, 100);
  const revisions = async (options: Parameters<typeof client.readStream>[1]): Promise<number[]> =>
    (await collect(client.readStream(STREAM, options))).map(({ event }) => Number(event?.revision));
  return { store, client, revisions };
}

const range = (first: number, last: number): number[] => Array.from({ length: last - first + 1 }, (_, i) => first + i);

test('a stream that was deleted softly shows what was appended since', async () => {
  const { client, revisions } = await streamOfHundred();
  await client.deleteStream(STREAM);
  await client.appendToStream(STREAM, counted(500), { expectedRevision: 'no_stream' });
  expect(await revisions({})).toEqual([100]);
});

test('$all has every event in log order, positions that grow with gaps, and events of the server', async () => {
  const { store, client } = await streamOfHundred();
  const events = await collect(client.readAll());
  expect(events).toHaveLength(store.events().length);
  const positions = events.map(({ event }) => Number(event?.position.commit));
  expect(positions).toEqual(positions.toSorted((left, right) => left - right));
  expect(new Set(positions).size).toBe(positions.length);
  const gaps = new Set(positions.slice(1).map((position, index) => position - (positions[index] ?? 0)));
  expect(gaps.size).toBeGreaterThan(2);
  expect(gaps.has(1)).toBe(false);
  expect(events.filter(({ event }) => event?.streamId.startsWith('$'))).not.toHaveLength(0);
  expect(events.filter(({ event }) => event?.streamId === STREAM)).toHaveLength(100);
});

test.each([
  { fault: 'refuse', type: 'unavailable' },
  { fault: 'busy', type: 'unavailable' },
  { fault: 'internal', type: 'unknown' },
  { fault: 'access-denied', type: 'access-denied' },
  { fault: 'not-leader', type: 'not-leader' },
] as const)('a read that meets $fault fails with $type, and the next does not', async ({ fault, type }) => {
  const { store, client, revisions } = await streamOfHundred();
  store.faults.nextReads(fault);
  expect(await rejectionOf(collect(client.readStream(STREAM)))).toMatchObject({ type });
  expect(await revisions({})).toHaveLength(100);
});

test.each([0, 1, 40])('a read breaks after %i events', async (breakAfterEvents) => {
  const { store, client } = await streamOfHundred();
  store.faults.nextReads({ breakAfterEvents });
  const seen: bigint[] = [];
  const read = async (): Promise<void> => {
    for await (const { event } of client.readStream(STREAM)) if (event) seen.push(event.revision);
  };
  expect(await rejectionOf(read())).toMatchObject({ type: 'unavailable' });
  expect(seen).toEqual(range(0, breakAfterEvents - 1).map(BigInt));
});

test("the connection of a read is reset, and the server's other clients do not notice", async () => {
  const { store, client } = await streamOfHundred();
  store.faults.nextReads({ cutAfterEvents: 5 });
  expect(['unavailable', 'cancelled', 'unknown']).toContain(
    (await rejectionOf(collect(client.readStream(STREAM)))).type,
  );
  expect(await collect(client.readStream(STREAM))).toHaveLength(100);
});

test('a slow reader holds the server back, and misses nothing once it reads on', async () => {
  const { store, client } = await startWithClient();
  await appendPadded(client, STREAM, 10_000);
  const read = client.readStream(STREAM);
  const events = read[Symbol.asyncIterator]();
  await events.next();
  // Other reads pass over the same connection meanwhile: the server has had the time to write all, had it been let.
  for (let index = 0; index < 50; index += 1) await rejectionOf(collect(client.readStream('nobody')));
  expect(store.calls.eventsWritten).toBeLessThan(3_000);
  for (let revision = 1n; revision < 10_000n; revision += 1n)
    expect((await events.next()).value?.event?.revision).toBe(revision);
});
