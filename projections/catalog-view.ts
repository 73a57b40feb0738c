import { z } from 'zod';
import { EVENT_SCHEMAS, type EventData } from '../contracts/events.ts';
import { CATALOG_STREAM, type Revision } from '../contracts/ids.ts';
import { type CatalogState, EMPTY_CATALOG, evolveCatalog } from '../ledger/catalog/catalog-state.ts';
import {
  type ColumnValue,
  type OlderTable,
  type StoredRows,
  type StoredView,
  storedRevision,
  textOf,
  type ViewRow,
  type ViewTable,
} from './view.ts';
import { ViewGapError } from './view-gap-error.ts';

const NAME = 'catalog';
const VERSION = 4;

const tableOf = (version: number): ViewTable => ({
  name: `${NAME}_v${version}`,
  columns: { revision: 'INTEGER', publication: 'TEXT' },
  keyColumns: 1,
});

const TABLE = tableOf(VERSION);

/**
 * The catalog that requests are admitted, priced and billed by. Its rows are the publications themselves (a few a
 * week): every rate card that there ever was must stay known, and folding them again gives all of it.
 */
export class CatalogView implements StoredView {
  readonly name = NAME;
  readonly version = VERSION;
  readonly tables = [TABLE] as const;
  #state: CatalogState = EMPTY_CATALOG;
  #changed: ViewRow[] = [];
  readonly #listeners: (() => void)[] = [];

  get state(): CatalogState {
    return this.#state;
  }

  /** Folds a publication; one that was folded before is ignored. @throws Error when a revision is left out. */
  fold(at: Revision, data: EventData<'CatalogPublished'>): void {
    if (at <= this.#state.revision) return;
    this.#evolve(at, data);
    const json = JSON.stringify(z.encode(EVENT_SCHEMAS.CatalogPublished, data));
    this.#changed.push({ table: TABLE, values: [at, json] });
    for (const listener of this.#listeners) listener();
  }

  /** After each publication that is new here. */
  onFolded(listener: () => void): void {
    this.#listeners.push(listener);
  }

  *takeChanges(): Generator<ViewRow> {
    const changed = this.#changed;
    this.#changed = [];
    yield* changed;
  }

  restore(rows: StoredRows): void {
    const publicationOf = ([at, json]: readonly ColumnValue[]) =>
      [storedRevision(at), EVENT_SCHEMAS.CatalogPublished.parse(JSON.parse(textOf(json)))] as const;
    for (const [at, publication] of rows.all(TABLE, publicationOf)) this.#evolve(at, publication);
  }

  /** Publications of version 3 had no plans. */
  olderTables(version: number): readonly OlderTable[] | null {
    if (version !== VERSION - 1) return null;
    const upcast = ([at = null, publication]: readonly ColumnValue[]) => [
      { table: TABLE, values: [at, JSON.stringify({ ...JSON.parse(textOf(publication)), plans: [] })] },
    ];
    return [{ from: tableOf(version), to: TABLE, upcast }];
  }

  /** As the balance view's, of one that has folded the same: nobody is told. */
  adopt(other: CatalogView): void {
    this.#state = other.#state;
    this.#changed = other.#changed;
  }

  clear(): void {
    this.#state = EMPTY_CATALOG;
    this.#changed = [];
  }

  #evolve(at: Revision, data: EventData<'CatalogPublished'>): void {
    if (at !== this.#state.revision + 1)
      throw new ViewGapError(CATALOG_STREAM, { last: this.#state.revision, found: at });
    this.#state = evolveCatalog(this.#state, data, at);
  }
}
