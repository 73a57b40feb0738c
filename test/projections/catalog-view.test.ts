import { expect, test } from 'vitest';
import { versionOf } from '../../contracts/event-upcasters.ts';
import { revision } from '../../contracts/ids.ts';
import { EMPTY_CATALOG, evolveCatalog } from '../../ledger/catalog/catalog-state.ts';
import { CatalogView } from '../../projections/catalog-view.ts';
import type { ViewRow } from '../../projections/view.ts';
import { exampleOf } from '../fixtures/ledger/example-events.ts';
import { storedRows } from './stored-rows.ts';

const { data } = exampleOf('CatalogPublished');

test('the catalog view is the fold of the publications, each taken once', () => {
  const view = new CatalogView();
  expect(view.state).toBe(EMPTY_CATALOG);
  view.fold(revision(0), data);
  expect(view.state).toEqual(evolveCatalog(EMPTY_CATALOG, data, revision(0)));
  const once = view.state;
  view.fold(revision(0), { ...data, version: 9 });
  expect(view.state).toBe(once);
});

test('the catalog view does not pass over a publication', () => {
  const view = new CatalogView();
  expect(() => view.fold(revision(1), data)).toThrow(/^revision 1 of catalog came, and revision 0 did not$/);
});

test('the catalog view goes on from its rows, and knows every rate card there ever was', () => {
  const view = new CatalogView();
  const [first, ...others] = data.models;
  if (first === undefined) throw new Error('the example has no model');
  view.fold(revision(0), data);
  view.fold(revision(1), { ...data, version: 2, models: others });
  const rows = rowsOf(view);
  expect(rowsOf(view)).toEqual([]);
  const restored = new CatalogView();
  restored.restore(storedRows(rows));
  expect(restored.state).toEqual(view.state);
  expect(restored.state.cards.has(first.rateCard.hash)).toBe(true);
  expect(restored.state.models.has(first.id)).toBe(false);
  expect(rowsOf(restored)).toEqual([]);
  restored.fold(revision(1), { ...data, version: 8 });
  restored.fold(revision(2), { ...data, version: 9 });
  expect([restored.state.version, restored.state.revision]).toEqual([9, 2]);
});

test('the catalog view does not restore over a publication that is not there', () => {
  const view = new CatalogView();
  view.fold(revision(0), data);
  view.fold(revision(1), { ...data, version: 2 });
  const [, second] = rowsOf(view);
  if (second === undefined) throw new Error('no second row');
  expect(() => new CatalogView().restore(storedRows([second]))).toThrow(
    /^revision 1 of catalog came, and revision 0 did not$/,
  );
});

const rowsOf = (view: CatalogView): ViewRow[] => [...view.takeChanges()];

test('rows of before there were plans are read as publications without any, and earlier ones not at all', () => {
  const view = new CatalogView();
  view.fold(revision(0), { ...data, plans: [] });
  const [table] = view.olderTables(3) ?? [];
  const [row] = rowsOf(view);
  const [at = null, json] = row?.values ?? [];
  const { plans: _plans, ...before } = JSON.parse(String(json));
  expect([table?.from.name, table?.to]).toEqual(['catalog_v3', view.tables[0]]);
  expect([...(table?.upcast?.([at, JSON.stringify(before)]) ?? [])]).toEqual([row]);
  expect(view.olderTables(2)).toBeNull();
});

/** Its rows are publications in the form of today: of another form, an upcaster reads them, or they are made anew. */
test('the catalog view has a new version with each new form of a publication', () => {
  expect([versionOf('CatalogPublished'), new CatalogView().version]).toEqual([4, 4]);
});
