import { expect, test } from 'vitest';
import { revision } from '../../contracts/ids.ts';
import { EMPTY_CATALOG, evolveCatalog } from '../../ledger/catalog/catalog-state.ts';
import { CatalogView } from '../../projections/catalog-view.ts';
import { exampleOf } from '../contracts/example-events.ts';

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
  expect(() => view.fold(revision(1), data)).toThrow(/revision 1 follows -1/);
});

test('the catalog view goes on from what was restored', () => {
  const view = new CatalogView();
  view.restore(evolveCatalog(EMPTY_CATALOG, data, revision(4)));
  view.fold(revision(4), { ...data, version: 8 });
  view.fold(revision(5), { ...data, version: 9 });
  expect([view.state.version, view.state.revision]).toEqual([9, 5]);
});
