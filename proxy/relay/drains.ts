import type { AccountId } from '../../contracts/ids.ts';

/** Answers that are read on after their client has left: bounded in number, in all and of one account, and in time. */
export class Drains {
  readonly #max: number;
  readonly #maxOfAccount: number;
  readonly #ms: number;
  readonly #ofAccounts = new Map<AccountId, number>();
  #count = 0;

  constructor(bounds: DrainBounds) {
    this.#max = bounds.max;
    this.#maxOfAccount = bounds.maxOfAccount;
    this.#ms = bounds.ms;
  }

  get count(): number {
    return this.#count;
  }

  /**
   * Takes a place and returns how to give it back; null when all are taken, or all that the account may have. `onTimeUp` is
   * called past the time.
   */
  begin(accountId: AccountId, onTimeUp: () => void): (() => void) | null {
    const ofAccount = this.#ofAccounts.get(accountId) ?? 0;
    if (this.#count >= this.#max || ofAccount >= this.#maxOfAccount) return null;
    this.#count++;
    this.#ofAccounts.set(accountId, ofAccount + 1);
    let isOver = false;
    const end = (): void => {
      if (isOver) return;
      isOver = true;
      this.#count--;
      const left = (this.#ofAccounts.get(accountId) ?? 0) - 1;
      if (left > 0) this.#ofAccounts.set(accountId, left);
      else this.#ofAccounts.delete(accountId);
      clearTimeout(timer);
    };
    const timer = setTimeout(() => {
      end();
      onTimeUp();
    }, this.#ms);
    return end;
  }
}

export interface DrainBounds {
  readonly max: number;
  readonly maxOfAccount: number;
  readonly ms: number;
}
