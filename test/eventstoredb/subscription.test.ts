import {
  type AllStreamSubscription,
  END,
  type EventStoreDBClient,
  eventTypeFilter,
  excludeSystemEvents,
  jsonEvent,
  type Position,
  streamNameFilter,
} from '@eventstore/db-client';
import { expect, onTestFinished, test } from 'vitest';
import type { FakeEventStore } from './fake-event-store.ts';
import {
  appendCounted,
  appendPadded,
  CREDENTIALS,
  counted,
  rejectionOf,
  startWithClient,
  until,
} from './with-client.ts';

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

const positionOf = (store: FakeEventStore, revision: number): Position => {
  const at = BigInt(store.log.stream(STREAM)?.events[revision]?.position ?? -1);
  return { commit: at, prepare: at };
};

test('a subscription to $all has everything, then says that it caught up, then is live', async () => {
  const { store, client } = await startWithStream();
  const system = store.events().length - EVENTS;
  const { told } = watch(client.subscribeToAll());
  await until(() => told.includes('caughtUp'));
  expect(told).toHaveLength(system + EVENTS + 1);
  expect(told.at(-1)).toBe('caughtUp');
  await append(client, 'account-2', 200, 201);
  await until(() => told.length >= system + EVENTS + 3);
  expect(told.slice(-2)).toEqual(['account-2@0', 'account-2@1']);
});

test('a subscription from a position begins after it, also in the filtered form', async () => {
  const { store, client } = await startWithStream();
  const plain = watch(client.subscribeToAll({ fromPosition: positionOf(store, 97) }));
  const filter = streamNameFilter({ prefixes: ['account-'] });
  const filtered = watch(client.subscribeToAll({ fromPosition: positionOf(store, 97), filter }));
  for (const { told } of [plain, filtered]) {
    await until(() => told.includes('caughtUp'));
    expect(told).toEqual([`${STREAM}@98`, `${STREAM}@99`, 'caughtUp']);
  }
});

test('a subscription from the end has only what comes', async () => {
  const { client } = await startWithStream();
  const { told } = watch(client.subscribeToAll({ fromPosition: END }));
  await until(() => told.includes('caughtUp'));
  await append(client, STREAM, 300);
  await until(() => told.length === 2);
  expect(told).toEqual(['caughtUp', `${STREAM}@${EVENTS}`]);
});

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

test.each([0, 7])('a subscription breaks after %i events', async (breakAfterEvents) => {
  const { store, client } = await startWithStream();
  store.faults.nextSubscriptions({ breakAfterEvents });
  const { told, failed } = watch(client.subscribeToAll({ filter: streamNameFilter({ prefixes: ['account-'] }) }));
  expect(await failed).toMatchObject({ type: 'unavailable' });
  expect(told).toHaveLength(breakAfterEvents);
});

test('a subscription falls silent without breaking', async () => {
  const { store, client } = await startWithStream();
  store.faults.nextSubscriptions({ silentAfterEvents: EVENTS + 2 });
  const filter = streamNameFilter({ prefixes: ['account-'] });
  const silent = watch(client.subscribeToAll({ filter }));
  const other = watch(client.subscribeToAll({ filter }));
  await until(() => silent.told.includes('caughtUp') && other.told.includes('caughtUp'));
  await append(client, STREAM, 300, 301, 302, 303);
  await until(() => other.told.length === EVENTS + 5);
  await append(client, STREAM, 304);
  await until(() => other.told.length === EVENTS + 6);
  expect(silent.told).toHaveLength(EVENTS + 3);
  expect(store.faults.struck.get('subscription silentAfterEvents')).toBe(1);
});

test('a kill of the server ends a subscription with an error', async () => {
  const { store, client } = await startWithStream();
  const { told, failed } = watch(client.subscribeToAll());
  await until(() => told.includes('caughtUp'));
  await store.kill();
  const error = await failed;
  expect(['unavailable', 'cancelled', 'unknown']).toContain(Reflect.get(error, 'type'));
});

test('a subscription that is given up is fed no more', async () => {
  const { store, client } = await startWithStream();
  const subscription = client.subscribeToAll();
  const { told } = watch(subscription);
  await until(() => told.includes('caughtUp'));
  expect(store.log.watchers).toBe(1);
  await subscription.unsubscribe();
  await until(() => store.log.watchers === 0);
});

test('a slow consumer holds the server back, and misses nothing once it reads on', async () => {
  const { store, client } = await startWithClient();
  await appendPadded(client, STREAM, 10_000);
  let read = 0;
  const subscription = client.subscribeToStream(STREAM);
  onTestFinished(() => subscription.unsubscribe());
  const events = subscription[Symbol.asyncIterator]();
  await events.next();
  read += 1;
  // Other work passes over the same connection meanwhile: the server has had the time to write all, had it been let.
  for (let index = 0; index < 50; index += 1) await append(client, 'account-2', 20_000 + index);
  expect(store.log.stream(STREAM)?.lastRevision).toBe(9_999);
  expect(store.calls.eventsWritten).toBeLessThan(3_000);
  while (read < 10_000) {
    const { value } = await events.next();
    expect(value?.event?.revision).toBe(BigInt(read));
    read += 1;
  }
});

test('a subscription is refused as its fault says', async () => {
  const { store, client } = await startWithStream();
  store.faults.nextSubscriptions('busy');
  const read = async (): Promise<void> => {
    for await (const _ of client.subscribeToAll()) throw new Error('an event came');
  };
  expect(await rejectionOf(read())).toMatchObject({ type: 'unavailable' });
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
