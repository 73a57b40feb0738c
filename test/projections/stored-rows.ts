import { onTestFinished } from 'vitest';
import type { StoredRows, StoredView, ViewRow } from '../../projections/view.ts';
import type { StoredCheckpoint } from '../../projections/view-file.ts';
import { restoreViews } from '../../projections/view-store.ts';

/** Restores views until the end of the test, and answers where they stand. */
export function restore(path: string, views: readonly StoredView[], source: string): StoredCheckpoint | null {
  const restored = restoreViews(path, views, { source });
  onTestFinished(() => restored?.rows.close());
  return restored?.at ?? null;
}

/** What views have given, as a file gives it back: of each key the last. */
export function storedRows(rows: Iterable<ViewRow>): StoredRows {
  const byKey = new Map<string, ViewRow>();
  for (const row of rows)
    byKey.set(JSON.stringify([row.table.name, ...row.values.slice(0, row.table.keyColumns).map(String)]), row);
  const of = (name: string) => [...byKey.values()].filter(({ table }) => table.name === name);
  return {
    all: (table, decode) => of(table.name).map(({ values }) => decode(values)),
    of: (table, first, decode) => of(table.name).flatMap(({ values }) => (values[0] === first ? [decode(values)] : [])),
  };
}
