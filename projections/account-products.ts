import type { AccountEvent } from '../contracts/events.ts';
import type { OpenAccount } from '../ledger/account/account-state.ts';

/** Of which products there are accounts: each is of one for good, and none goes away. */
export class AccountProducts {
  #names = new Set<string>();
  readonly #listeners: (() => void)[] = [];

  /** In the order of the alphabet. */
  get names(): string[] {
    return [...this.#names].toSorted();
  }

  /** Whether there are accounts, and none that is known is of the product. */
  lack(product: string): boolean {
    return this.#names.size > 0 && !this.#names.has(product);
  }

  /** Told behind each that comes to be among them. */
  onMore(listener: () => void): void {
    this.#listeners.push(listener);
  }

  addFrom({ organization: { product } }: Pick<OpenAccount, 'organization'>): void {
    this.#names.add(product);
  }

  observe(event: AccountEvent): void {
    if (event.type !== 'AccountOpened' || this.#names.has(event.data.product)) return;
    this.#names.add(event.data.product);
    for (const listener of this.#listeners) listener();
  }

  adopt(other: AccountProducts): void {
    this.#names = other.#names;
  }

  clear(): void {
    this.#names.clear();
  }
}
