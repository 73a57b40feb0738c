import { decodeEvent } from '../contracts/event-codec.ts';
import type { EventWithoutId } from '../contracts/event-log.ts';
import { type AccountEvent, isLedgerEvent, type LedgerEvent } from '../contracts/events.ts';
import { type AccountId, accountOfStream, CATALOG_STREAM, LEDGER_STREAM } from '../contracts/ids.ts';
import { UnreadableEventError } from '../contracts/unreadable-event-error.ts';
import type { AccountViews } from './account-views.ts';
import type { CatalogView } from './catalog-view.ts';
import { lacking } from './take-back.ts';
import { ViewGapError } from './view-gap-error.ts';

export interface FoldedViews {
  readonly accounts: AccountViews;
  readonly catalog: CatalogView;
  /** Whether the events come from the ledger itself: what is missing there is missing for good. */
  readonly isLedger: boolean;
  readonly onLedgerEvent?: ((event: LedgerEvent) => void) | undefined;
  readonly onTaken?: OnTaken | undefined;
}

/** Told of each event that came by the source; and of an account's what was read of it, where that has been folded now. */
export type OnTaken = (recorded: EventWithoutId, event: AccountEvent | null) => void;

/** What one event of the source does to the views. */
export class EventFold {
  readonly #views: FoldedViews;

  constructor(views: FoldedViews) {
    this.#views = views;
  }

  /** @throws Error where it cannot be folded, and nobody but its account could go without it */
  take(recorded: EventWithoutId): void {
    if (recorded.stream === LEDGER_STREAM) this.#tellLedgerEvent(recorded);
    const { stream, revision } = recorded;
    const accountId = accountOfStream(stream);
    const event = accountId === null ? null : this.#takeAccountEvent(accountId, recorded);
    // What is folded need not be decoded.
    if (accountId === null && !this.isFolded(recorded)) {
      const published = decodeEvent(recorded);
      if (published.type !== 'CatalogPublished')
        throw new UnreadableEventError(`${stream}: ${published.type} does not belong there`);
      this.#views.catalog.fold(revision, published.data);
    }
    this.#views.onTaken?.(recorded, event);
  }

  isFolded({ stream, revision }: EventWithoutId): boolean {
    const accountId = accountOfStream(stream);
    if (accountId !== null) return this.#views.accounts.isTaken(accountId, revision);
    // A relay's claims and what others may keep in the same log are no part of any view.
    return stream !== CATALOG_STREAM || revision <= this.#views.catalog.state.revision;
  }

  #takeAccountEvent(accountId: AccountId, recorded: EventWithoutId): AccountEvent | null {
    try {
      return this.#views.accounts.take(accountId, recorded);
    } catch (error) {
      if (!(error instanceof ViewGapError) || !this.#views.isLedger) throw error;
      this.#views.accounts.putAside(accountId, lacking(accountId, error));
      this.#views.accounts.setAside.left(accountId, error.found);
      return null;
    }
  }

  #tellLedgerEvent(recorded: EventWithoutId): void {
    const event = decodeEvent(recorded);
    if (!isLedgerEvent(event))
      throw new UnreadableEventError(`${recorded.stream}: ${event.type} does not belong there`);
    this.#views.onLedgerEvent?.(event);
  }
}
