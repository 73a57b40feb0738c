import {
  type AllStreamSubscription,
  type EventStoreDBClient,
  eventTypeFilter,
  excludeSystemEvents,
  jsonEvent,
  streamNameFilter,
} from '@eventstore/db-client';
import { expect, onTestFinished, test } from 'vitest';
import { appendCounted, CREDENTIALS, counted, startWithClient, until } from './with-client.ts';

const STREAM = 'account-1';
const EVENTS = 100;

async function startWithStream() {
  const { store, client } = await startWithClient();
  await appendCounted(client, STREAM, EVENTS);
  return { store, client };
}

/** What a subscription tells, in order: `streamId@revision`, and `caughtUp`. */
function watch(subscription: AllStreamSubscription): { told: string[]; failed: Promise<Error> } {
  const told: string[] = [];
  const failed = new Promise<Error>((resolve) => subscription.once('error', resolve));
  subscription.on('caughtUp', () => told.push('caughtUp'));
  subscription.on('data', ({ event }) => told.push(`${event?.streamId}@${event?.revision}`));
  onTestFinished(() => subscription.unsubscribe());
  return { told, failed };
}

const append = (client: EventStoreDBClient, stream: string, ...ids: number[]) =>
  client.appendToStream(stream, counted(...ids), { expectedRevision: 'any', ...CREDENTIALS });

test.each([
  { name: 'prefixes of streams', filter: streamNameFilter({ prefixes: ['account-2', 'account-3'] }) },
  { name: 'an expression on streams', filter: streamNameFilter({ regex: '^account-[23]$' }) },
])('the server evaluates $name', async ({ filter }) => {
  const { client } = await startWithStream();
  await append(client, 'account-2', 200);
  const { told } = watch(client.subscribeToAll({ filter }));
  await until(() => told.includes('caughtUp'));
  await append(client, STREAM, 201);
  await append(client, 'account-3', 202);
  await until(() => told.length === 3);
  expect(told).toEqual(['account-2@0', 'caughtUp', 'account-3@0']);
});

test('the server evaluates filters on types of events, wherever they are', async () => {
  const { store, client } = await startWithStream();
  await client.appendToStream(STREAM, jsonEvent({ type: '$odd', data: {} }), { expectedRevision: 'any' });
  await client.appendToStream('$stream', jsonEvent({ type: 'Other', data: {} }), { expectedRevision: 'any' });
  const own = watch(client.subscribeToAll({ filter: excludeSystemEvents() }));
  const system = watch(client.subscribeToAll({ filter: eventTypeFilter({ prefixes: ['$', 'nothing'] }) }));
  await until(() => own.told.includes('caughtUp') && system.told.includes('caughtUp'));
  expect(own.told).toHaveLength(EVENTS + 2);
  expect(own.told.slice(-2)).toEqual(['$stream@0', 'caughtUp']);
  expect(system.told.slice(-2)).toEqual([`${STREAM}@${EVENTS}`, 'caughtUp']);
  expect(own.told.length + system.told.length).toBe(store.events().length + 2);
});

test('a filtered subscription has checkpoints for what it considered, and one when it has caught up', async () => {
  const { store, client } = await startWithStream();
  const checkpoints: bigint[] = [];
  const filter = streamNameFilter({
    prefixes: ['nobody'],
    checkpointInterval: 2,
    maxSearchWindow: 10,
    checkpointReached: async (_, { commit }) => void checkpoints.push(commit),
  });
  const { told } = watch(client.subscribeToAll({ filter }));
  await until(() => told.includes('caughtUp'));
  const positions = store.events().map(({ position }) => BigInt(position));
  const every20th = positions.filter((_, index) => (index + 1) % 20 === 0);
  expect(checkpoints).toEqual([...every20th, positions.at(-1)]);
});

test('a subscription to a stream has its events after a revision, and waits for a stream to come', async () => {
  const { client } = await startWithStream();
  const told: string[] = [];
  const existing = client.subscribeToStream(STREAM, { fromRevision: 97n });
  const coming = client.subscribeToStream('account-9');
  for (const subscription of [existing, coming]) {
    subscription.on('data', ({ event }) => told.push(`${event?.streamId}@${event?.revision}`));
    onTestFinished(() => subscription.unsubscribe());
  }
  await until(() => told.length === 2);
  await append(client, 'account-9', 1);
  await until(() => told.length === 3);
  expect(told).toEqual([`${STREAM}@98`, `${STREAM}@99`, 'account-9@0']);
});

test('reads and subscriptions meet faults by chance, the same for the same seed', async () => {
  const { store, client } = await startWithStream();
  const drain = async (events: AsyncIterable<unknown>): Promise<void> => {
    for await (const _ of events);
  };
  const meet = async (): Promise<Map<string, number>> => {
    store.faults.struck.clear();
    store.faults.byChance({
      seed: 3,
      read: { break: 0.5, withinEvents: 90 },
      subscription: { break: 0.3, cut: 0.3, refuse: 0.4, withinEvents: 90 },
    });
    for (let index = 0; index < 10; index += 1) {
      await drain(client.readStream(STREAM)).catch(() => {});
      // Every subscription meets one of the faults, or it would not end.
      await drain(client.subscribeToStream(STREAM)).catch(() => {});
    }
    return new Map(store.faults.struck);
  };
  const first = await meet();
  expect([...first.keys()].toSorted()).toEqual([
    'read breakAfterEvents',
    'subscription breakAfterEvents',
    'subscription cutAfterEvents',
    'subscription refuse',
  ]);
  expect(await meet()).toEqual(first);
});
