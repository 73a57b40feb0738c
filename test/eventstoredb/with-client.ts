import { EventStoreDBClient, type JSONEventData, jsonEvent } from '@eventstore/db-client';
import { onTestFinished } from 'vitest';
import { endedLater } from '../fixtures/ended-later.ts';
import { type FakeEventStore, type FakeEventStoreOptions, startFakeEventStore } from './fake-event-store.ts';

/** Sending credentials makes the client use Streams.Append; without TLS they do not leave it. */
export const CREDENTIALS = { credentials: { username: 'proxy', password: 'test-only' } };

/** A server that is stopped, and a client that is disposed of, when the test ends. */
export async function startWithClient(
  options?: FakeEventStoreOptions,
): Promise<{ store: FakeEventStore; client: EventStoreDBClient }> {
  const store = endedLater(await startFakeEventStore(options));
  return { store, client: connect(store.connectionString) };
}

/** The real client, disposed of when the test ends. */
export function connect(connectionString: string): EventStoreDBClient {
  const client = EventStoreDBClient.connectionString(connectionString);
  onTestFinished(() => client.dispose());
  return client;
}

/** A UUID that the number decides. */
export const idOf = (number: number): string => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;

/** Events with these numbers as ids, of the type `Counted`. */
export const counted = (...numbers: number[]): JSONEventData[] =>
  numbers.map((number) => jsonEvent({ id: idOf(number), type: 'Counted', data: { number } }));

/** Events 0 to n-1 at revisions 0 to n-1 of a stream. */
export async function appendCounted(client: EventStoreDBClient, stream: string, count: number): Promise<void> {
  await client.appendToStream(stream, counted(...Array(count).keys()), { expectedRevision: 'no_stream' });
}

/** So many events of 1 KB at the end of a stream: together more than what the way to a client can hold. */
export async function appendPadded(client: EventStoreDBClient, stream: string, count: number): Promise<void> {
  const data = { text: 'x'.repeat(1_000) };
  const batch = 500;
  for (let first = 0; first < count; first += batch) {
    const ids = Array.from({ length: Math.min(batch, count - first) }, (_, index) => first + index);
    const events = counted(...ids).map((event) => ({ ...event, data }));
    await client.appendToStream(stream, events, { expectedRevision: 'any' });
  }
}

/** What the promise rejected with. @throws when it did not. */
export async function rejectionOf(promise: Promise<unknown>): Promise<Error & { type?: string; code?: number }> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof Error) return error;
    throw error;
  }
  throw new Error('it was answered');
}

/** Everything a read gives. */
export async function collect<E>(read: AsyncIterable<E>): Promise<E[]> {
  const events: E[] = [];
  for await (const event of read) events.push(event);
  return events;
}

const BOUND_MS = 120_000;

/** Resolves when the condition holds; looks again every few milliseconds. @throws when it does not within the bound. */
export async function until(condition: () => boolean): Promise<void> {
  const endMs = Date.now() + BOUND_MS;
  while (!condition()) {
    if (Date.now() > endMs) throw new Error(`after ${BOUND_MS} ms still not: ${condition.toString()}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}
