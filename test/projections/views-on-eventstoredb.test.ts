import { expect, test } from 'vitest';
import { type EventLog, isLogAway, type RecordedEvent } from '../../contracts/event-log.ts';
import { revision } from '../../contracts/ids.ts';
import { openEventStoreDbEventLog } from '../../ledger/event-log/eventstoredb/eventstoredb-event-log.ts';
import { startFakeEventStore } from '../eventstoredb/fake-event-store.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { dump, viewsFile } from './example-ledger.ts';
import { exampleLog, LIVES } from './example-log.ts';
import { startedViews } from './started-views.ts';

const [A] = LIVES.keys();
if (A === undefined) throw new Error('no example lives');

async function openLog(connectionString: string): Promise<EventLog> {
  return endedLater(await openEventStoreDbEventLog({ connectionString }));
}

async function write(log: EventLog, events: readonly RecordedEvent[]): Promise<void> {
  for (const event of events) await appendAgain(log, event, 1_000);
}

/** As the port allows: the same call again where nobody knows what has become of it. */
async function appendAgain(log: EventLog, event: RecordedEvent, tries: number): Promise<void> {
  try {
    expect((await log.append(event.stream, revision(event.revision - 1), [event])).type).toBe('appended');
  } catch (error) {
    if (!isLogAway(error) || tries === 0) throw error;
    await new Promise((resolve) => setTimeout(resolve, 50));
    await appendAgain(log, event, tries - 1);
  }
}

test('views on an event store start while it is away, follow it when it is back, and are those of a rebuild', async () => {
  const store = endedLater(await startFakeEventStore());
  const { events } = exampleLog().inner;
  const path = viewsFile();
  const before = await openLog(store.connectionString);
  await write(before, events.slice(0, 60));
  const firstStartedMs = Date.now();
  const first = await startedViews({ log: before, path });
  await first.projections.whenCaughtUp();
  await first.projections.close();
  await store.kill();

  // Another process, which has never seen the store.
  const log = await openLog(store.connectionString);
  const { projections, stopped } = await startedViews({ log, path });
  const restored = projections.accounts.read(A).revision;
  expect(restored).toBe(first.projections.accounts.read(A).revision);
  expect([projections.isLive, projections.catalog.state.version]).toEqual([false, 2]);
  const ageMs = projections.ageMs(Date.now()) ?? -1;
  expect(ageMs).toBeGreaterThanOrEqual(0);
  expect(ageMs).toBeLessThanOrEqual(Date.now() - firstStartedMs);

  await store.restart();
  await write(before, events.slice(60));
  await projections.whenCaughtUp();
  const head = await log.headPosition();
  if (head === null) throw new Error('an empty log');
  await projections.whenAt(head);
  expect(projections.ageMs(Date.now())).toBe(0);

  // And while it serves: lost from sight, and found again.
  await store.kill();
  while (projections.isLive) await new Promise((resolve) => setTimeout(resolve, 10));
  expect(projections.ageMs(Date.now() + 5_000)).toBeGreaterThanOrEqual(5_000);
  await store.restart();
  while (!projections.isLive) await new Promise((resolve) => setTimeout(resolve, 10));
  await projections.close();
  expect(stopped).toEqual([]);

  const anew = viewsFile();
  const rebuilt = await startedViews({ log, path: anew });
  await rebuilt.projections.whenCaughtUp();
  await rebuilt.projections.close();
  expect(dump(path)).toEqual(dump(anew));
});
