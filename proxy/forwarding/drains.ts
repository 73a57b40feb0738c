import type { AccountId } from '../../contracts/ids.ts';
import { Tally } from '../tally.ts';

/** Answers that are read on after their client has left: bounded in number, in all and of one account, and in time. */
export class Drains {
  readonly #bounds: DrainBounds;
  readonly #ofAccounts = new Tally<AccountId>();
  #count = 0;

  constructor(bounds: DrainBounds) {
    this.#bounds = bounds;
  }

  get count(): number {
    return this.#count;
  }

  /** A place, as how to give it back; null when all, or all of the account's, are taken. Past the time `onTimeUp`. */
  begin(accountId: AccountId, onTimeUp: () => void): (() => void) | null {
    const { max, maxOfAccount, ms } = this.#bounds;
    if (this.#count >= max || this.#ofAccounts.of(accountId) >= maxOfAccount) return null;
    this.#count++;
    this.#ofAccounts.add(accountId);
    let isOver = false;
    const end = (): void => {
      if (isOver) return;
      isOver = true;
      this.#count--;
      this.#ofAccounts.subtract(accountId);
      clearTimeout(timer);
    };
    const timer = setTimeout(() => {
      end();
      onTimeUp();
    }, ms);
    return end;
  }
}

interface DrainBounds {
  readonly max: number;
  readonly maxOfAccount: number;
  readonly ms: number;
}
