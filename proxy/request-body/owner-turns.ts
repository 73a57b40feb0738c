import type { BodyOwner } from './body-owner.ts';
import { ShareTurns } from './share-turns.ts';

/** What waits: accounts take turns, and all that never paid, however many, share every second one. */
export class OwnerTurns<T> {
  readonly #paid = new ShareTurns<T>();
  readonly #unpaid = new ShareTurns<T>();
  #isTurnOfUnpaid = false;

  get size(): number {
    return this.#paid.size + this.#unpaid.size;
  }

  sizeOf({ accountId, hasPaid }: BodyOwner): number {
    return this.#turnsOf(hasPaid).sizeOf(accountId);
  }

  add({ accountId, hasPaid }: BodyOwner, item: T): void {
    this.#turnsOf(hasPaid).add(accountId, item);
  }

  /** The first of whose turn it is; null where nothing waits. */
  take(): T | null {
    const [first, second] = this.#isTurnOfUnpaid ? [this.#unpaid, this.#paid] : [this.#paid, this.#unpaid];
    this.#isTurnOfUnpaid = !this.#isTurnOfUnpaid;
    return first.take() ?? second.take();
  }

  /** The same of those that have paid alone. */
  takePaid(): T | null {
    return this.#paid.take();
  }

  #turnsOf(hasPaid: boolean): ShareTurns<T> {
    return hasPaid ? this.#paid : this.#unpaid;
  }
}
