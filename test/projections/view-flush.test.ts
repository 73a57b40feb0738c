import { expect, test } from 'vitest';
import { VIEW_LIMITS } from '../../projections/limits.ts';
import type { StoredView, ViewRow, ViewTable } from '../../projections/view.ts';
import { ViewFlush } from '../../projections/view-flush.ts';
import { ViewStore } from '../../projections/view-store.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { viewsFile } from './example-ledger.ts';
import { restore } from './stored-rows.ts';

test('a write has the checkpoint of its beginning: what is folded while its rows are taken may not be among them', async () => {
  const path = viewsFile();
  const table: ViewTable = { name: 'counted', columns: { id: 'TEXT' }, keyColumns: 1 };
  let folded = 1;
  const view: StoredView = {
    ...{ name: 'counted', version: 1, tables: [table], restore: () => undefined, clear: () => undefined },
    *takeChanges(): Generator<ViewRow> {
      for (let row = 0; row < 2 * VIEW_LIMITS.rowsPerTurn; row++) yield { table, values: [String(row)] };
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
