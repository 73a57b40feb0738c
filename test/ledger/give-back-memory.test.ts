import { once } from 'node:events';
import { join } from 'node:path';
import { getHeapStatistics } from 'node:v8';
import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { OPEN } from '../../ledger/event-log/sqlite/messages.ts';
import { giveBackMemory } from '../../ledger/give-back-memory.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const MIB = 1024 * 1024;

test('what is needed no more goes back to the system', () => {
  let garbage: unknown = Array.from({ length: 1_000_000 }, (_, index) => ({ index }));
  const before = getHeapStatistics().total_physical_size;
  const givenBack = (): number => before - getHeapStatistics().total_physical_size;
  garbage = null;
  giveBackMemory(1);
  // The heap is larger than that.
  expect(givenBack()).toBeLessThan(16 * MIB);
  giveBackMemory(Number.POSITIVE_INFINITY);
  expect(givenBack()).toBeGreaterThan(16 * MIB);
  expect(garbage).toBeNull();
});

test.each([
  ['ledger/event-log/sqlite/writer-thread.ts', { busyMs: 1_000, isServedFrom: false }, OPEN],
  ['ledger/event-log/sqlite/reader-thread.ts', { busyMs: 1_000, isServedFrom: false }, OPEN],
  ['projections/view-store-worker.ts', { keepFreeBytes: null }, { batches: [], isLast: true }],
])('%s lives on, and gives back what its start has needed', async (module, data, first) => {
  const workerData = { path: join(temporaryFolder(), 'some.db'), ...data };
  const thread = new Worker(new URL(`../../${module}`, import.meta.url), { workerData });
  const answered = once(thread, 'message');
  thread.postMessage(first);
  // All is loaded by then, and 13 MB and more are resident.
  await answered;
  await expect.poll(async () => (await thread.getHeapStatistics()).total_physical_size).toBeLessThan(10_000_000);
  await thread.terminate();
});
