import type { Refusal } from '../../contracts/errors.ts';
import type { BodyBudget } from './body-budget.ts';
import type { BodyOwner } from './body-owner.ts';

/** A request's part of the budget, given back once: its answer over, and nobody (a forwarder) keeps the bytes. */
export class BodyShare {
  readonly #budget: BodyBudget;
  readonly owner: BodyOwner;
  readonly #onGiven: () => void;
  #bytes = 0;
  #keepers = 0;
  #isOver = false;
  #isGiven = false;

  /** @param onGiven called when nobody has the bytes any more */
  constructor(budget: BodyBudget, owner: BodyOwner, onGiven: () => void = () => undefined) {
    this.#budget = budget;
    this.owner = owner;
    this.#onGiven = onGiven;
  }

  /** Why there is no room for so many more; null where they are taken. */
  take(bytes: number): Refusal | null {
    const refused = this.#budget.take(this.owner, bytes);
    if (refused === null) this.#bytes += bytes;
    return refused;
  }

  /** Whoever keeps the bytes lets go of them once, whatever becomes of the connection. */
  keep(): void {
    this.#keepers++;
  }

  letGo(): void {
    this.#keepers--;
    this.#giveWhenOver();
  }

  /** Nobody sends more of it, and nobody waits for its answer. */
  over(): void {
    this.#isOver = true;
    this.#giveWhenOver();
  }

  #giveWhenOver(): void {
    if (!this.#isOver || this.#keepers > 0 || this.#isGiven) return;
    this.#isGiven = true;
    this.#budget.give(this.owner, this.#bytes);
    this.#onGiven();
  }
}
