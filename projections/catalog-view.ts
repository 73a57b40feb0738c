import type { EventData } from '../contracts/events.ts';
import type { Revision } from '../contracts/ids.ts';
import { type CatalogState, EMPTY_CATALOG, evolveCatalog } from '../ledger/catalog/catalog-state.ts';

/**
 * The catalog that requests are admitted, priced and billed by. It is read whole at each start (a few publications a
 * week), so it needs no rows and no checkpoint.
 */
export class CatalogView {
  #state: CatalogState = EMPTY_CATALOG;

  get state(): CatalogState {
    return this.#state;
  }

  restore(state: CatalogState): void {
    this.#state = state;
  }

  /** Folds a publication; one that was folded before is ignored. @throws Error when a revision is left out. */
  fold(revision: Revision, data: EventData<'CatalogPublished'>): void {
    if (revision <= this.#state.revision) return;
    if (revision !== this.#state.revision + 1)
      throw new Error(`catalog: revision ${revision} follows ${this.#state.revision}`);
    this.#state = evolveCatalog(this.#state, data, revision);
  }
}
