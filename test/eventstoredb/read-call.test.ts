import { BACKWARDS, binaryEvent, END, FORWARDS, START } from '@eventstore/db-client';
import { expect, test } from 'vitest';
import { StoredLog } from './stored-log.ts';
import { appendCounted, appendPadded, collect, counted, idOf, rejectionOf, startWithClient } from './with-client.ts';

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

test('a stream is read whole, with what was appended', async () => {
  const { store, client } = await streamOfHundred();
  const events = await collect(client.readStream(STREAM));
  expect(events.map(({ event }) => event?.id)).toEqual(range(0, 99).map(idOf));
  const stored = store.log.stream(STREAM)?.events[42];
  expect(events[42]?.event).toMatchObject({
    streamId: STREAM,
    revision: 42n,
    type: 'Counted',
    data: { number: 42 },
    isJson: true,
    position: { commit: BigInt(stored?.position ?? -1), prepare: BigInt(stored?.position ?? -1) },
    created: new Date(stored?.createdMs ?? 0),
  });
});

test('what another application has written to a stream is handed over as it is, in reads of the stream and of all', async () => {
  const { client } = await startWithClient();
  await appendCounted(client, STREAM, 1);
  await client.appendToStream(STREAM, binaryEvent({ type: 'order placed!', data: Buffer.from([0, 255, 123]) }));
  const foreign = { streamId: STREAM, revision: 1n, type: 'order placed!', isJson: false };
  const inStream = await collect(client.readStream(STREAM));
  const inAll = (await collect(client.readAll())).filter(({ event }) => event?.streamId === STREAM);
  for (const [own, last] of [inStream, inAll]) {
    expect(own?.event?.isJson).toBe(true);
    expect(last?.event).toMatchObject(foreign);
    expect(Buffer.from(last?.event?.data as Uint8Array)).toEqual(Buffer.from([0, 255, 123]));
  }
});

test.each([
  { options: { fromRevision: 10n, maxCount: 3 }, expected: range(10, 12) },
  { options: { fromRevision: 98n }, expected: range(98, 99) },
  { options: { fromRevision: 100n }, expected: [] },
  { options: { direction: BACKWARDS, fromRevision: END, maxCount: 2 }, expected: [99, 98] },
  { options: { direction: BACKWARDS, fromRevision: 1n }, expected: [1, 0] },
  { options: { direction: BACKWARDS, fromRevision: 500n, maxCount: 1 }, expected: [99] },
  { options: { direction: FORWARDS, fromRevision: START, maxCount: 1 }, expected: [0] },
] as const)('a stream is read with $options', async ({ options, expected }) => {
  const { revisions } = await streamOfHundred();
  expect(await revisions(options)).toEqual(expected);
});

test('a stream that does not exist is not found, and one that was deleted neither', async () => {
  const { client } = await streamOfHundred();
  expect(await rejectionOf(collect(client.readStream('nobody')))).toMatchObject({ type: 'stream-not-found' });
  await client.deleteStream(STREAM);
  expect(await rejectionOf(collect(client.readStream(STREAM)))).toMatchObject({ type: 'stream-not-found' });
  await client.tombstoneStream(STREAM);
  expect(await rejectionOf(collect(client.readStream(STREAM)))).toMatchObject({ type: 'stream-deleted' });
});

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

test('$all from a position begins with the event there; backwards with the one before', async () => {
  const { store, client } = await streamOfHundred();
  const at = BigInt(store.log.stream(STREAM)?.events[50]?.position ?? -1);
  const fromPosition = { commit: at, prepare: at };
  const [first] = await collect(client.readAll({ fromPosition, maxCount: 1 }));
  expect(first?.event?.revision).toBe(50n);
  const [before] = await collect(client.readAll({ fromPosition, direction: BACKWARDS, maxCount: 1 }));
  expect(before?.event?.revision).toBe(49n);
  const [last] = await collect(client.readAll({ fromPosition: END, direction: BACKWARDS, maxCount: 1 }));
  expect(last?.event?.revision).toBe(99n);
});

test.each([
  { metadata: { maxCount: 3 }, expected: range(97, 99) },
  { metadata: { truncateBefore: 95 }, expected: range(95, 99) },
  { metadata: { truncateBefore: 95, maxCount: 2 }, expected: [98, 99] },
])(
  'stream metadata $metadata hides events from reads of the stream and not from reads of the whole log',
  async ({ metadata, expected }) => {
    const { client, revisions } = await streamOfHundred();
    expect(await client.getStreamMetadata(STREAM)).toEqual({ streamName: STREAM });
    await client.setStreamMetadata(STREAM, metadata);
    expect((await client.getStreamMetadata(STREAM)).metadata).toEqual(metadata);
    expect(await revisions({})).toEqual(expected);
    expect(await revisions({ direction: BACKWARDS, fromRevision: END })).toEqual(expected.toReversed());
    const all = await collect(client.readAll());
    expect(all.filter(({ event }) => event?.streamId === STREAM)).toHaveLength(100);
  },
);

test('$maxAge hides what is older, by the clock of the server', async () => {
  let nowMs = Date.now();
  const { store, client } = await startWithClient({ log: new StoredLog({ now: () => nowMs }) });
  await appendCounted(client, STREAM, 1);
  nowMs += 5_000;
  await client.appendToStream(STREAM, counted(1), { expectedRevision: 0n });
  store.setMetadata(STREAM, { $maxAge: 6 });
  expect(await collect(client.readStream(STREAM))).toHaveLength(2);
  nowMs += 1_000;
  const left = await collect(client.readStream(STREAM));
  expect(left.map(({ event }) => event?.revision)).toEqual([1n]);
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

test('a read falls silent after some events, and stays open', async () => {
  const { store, client } = await streamOfHundred();
  store.faults.nextReads({ silentAfterEvents: 10 });
  const read = client.readStream(STREAM);
  let ended = false;
  let seen = 0;
  read.on('data', () => {
    seen += 1;
  });
  read.on('end', () => {
    ended = true;
  });
  // Other reads come and go meanwhile.
  while (seen < 10) await collect(client.readStream(STREAM));
  await collect(client.readStream(STREAM));
  expect({ seen, ended }).toEqual({ seen: 10, ended: false });
  await read.cancel();
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
