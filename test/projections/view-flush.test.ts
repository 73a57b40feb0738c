import { afterEach, expect, test, vi } from 'vitest';
import { VIEW_LIMITS } from '../../projections/limits.ts';
import type { StoredView, ViewRow, ViewTable } from '../../projections/view.ts';
import { ViewFlush } from '../../projections/view-flush.ts';
import { ViewStore } from '../../projections/view-store.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { viewsFile } from './example-ledger.ts';
import { restore } from './stored-rows.ts';

const TABLE: ViewTable = { name: 'counted', columns: { id: 'TEXT' }, keyColumns: 1 };

afterEach(() => void vi.restoreAllMocks());

test('a write has the checkpoint of its beginning: what is folded while its rows are taken may not be among them', async () => {
  const path = viewsFile();
  let folded = 1;
  const view: StoredView = {
    ...{ name: 'counted', version: 1, tables: [TABLE], restore: () => undefined, clear: () => undefined },
    *takeChanges(): Generator<ViewRow> {
      for (let row = 0; row < 2 * VIEW_LIMITS.rowsPerTurn; row++) yield { table: TABLE, values: [String(row)] };
      // In a later turn than the first rows.
      folded = 2;
    },
  };
  const told: unknown[] = [];
  const tell = (error?: Error): unknown => told.push(error);
  const store = endedLater(ViewStore.open({ path, views: [view], keep: false, onDied: tell }));
  const flush = new ViewFlush({
    ...{ views: [view], isCatchingUp: () => false, onFailed: tell, onPostponed: tell, onWrittenAgain: tell },
    checkpoint: () => ({ source: 'log', checkpoint: String(folded), currentAtMs: null }),
  });
  flush.writeTo(() => store);
  await flush.close({ write: true });
  expect([folded, told, restore(path, [view], 'log')?.checkpoint]).toEqual([2, [], '1']);
});

test('while the views catch up, the next write waits ten times as long as the last took, and half a minute at the least', async () => {
  let nowMs = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
  const waits = vi.spyOn(globalThis, 'setTimeout');
  let takesMs = 7_000;
  const view: StoredView = {
    ...{ name: 'counted', version: 1, tables: [TABLE], restore: () => undefined, clear: () => undefined },
    *takeChanges(): Generator<ViewRow> {
      nowMs += takesMs;
      yield { table: TABLE, values: ['1'] };
    },
  };
  const path = viewsFile();
  const told: unknown[] = [];
  const tell = (error?: Error): unknown => told.push(error);
  const flush = new ViewFlush({
    ...{ views: [view], isCatchingUp: () => true, onFailed: tell, onPostponed: tell, onWrittenAgain: tell },
    checkpoint: () => ({ source: 'log', checkpoint: '1', currentAtMs: null }),
  });
  const store = endedLater(ViewStore.open({ path, views: [view], keep: false, onDied: tell }));
  for (const next of [7_000, 1_000, 0]) {
    takesMs = next;
    flush.writeTo(() => store);
    flush.request();
    await flush.suspend();
  }
  const pauses = waits.mock.calls.map(([, ms]) => ms).filter((ms) => (ms ?? 0) >= VIEW_LIMITS.catchUpPauseMs);
  expect([pauses, told]).toEqual([[30_000, 70_000, 30_000], []]);
});

test('at its end it writes also for whoever waits for a write, and then for another; who asks later is told that there is none', async () => {
  const view: StoredView = {
    ...{ name: 'counted', version: 1, tables: [TABLE], restore: () => undefined, clear: () => undefined },
    *takeChanges(): Generator<ViewRow> {
      yield { table: TABLE, values: ['1'] };
    },
  };
  const told: unknown[] = [];
  const tell = (error?: Error): unknown => told.push(error);
  const store = endedLater(ViewStore.open({ path: viewsFile(), views: [view], keep: false, onDied: tell }));
  const flush = new ViewFlush({
    ...{ views: [view], isCatchingUp: () => false, onFailed: tell, onPostponed: tell, onWrittenAgain: tell },
    checkpoint: () => ({ source: 'log', checkpoint: '1', currentAtMs: null }),
  });
  flush.writeTo(() => store);
  const twice = (async () => {
    for (let times = 0; times < 2; times++) await flush.written();
  })();
  await Promise.all([twice, flush.close({ write: true })]);
  await expect(flush.written()).rejects.toThrow('the views are not written any more');
  expect(told).toEqual([]);
});
