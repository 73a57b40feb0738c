import type { AccountEvent } from '../contracts/events.ts';
import type { AccountId } from '../contracts/ids.ts';
import type { OpenAccount } from '../ledger/account/account-state.ts';
import { openAttempts } from '../ledger/account/payments.ts';

const BEGINNING: ReadonlySet<string> = new Set(['PurchaseStarted', 'AutoReloadConfigured', 'PlanChanged']);

/** Accounts that have a payment open, auto-reload, or a plan: the few that are looked at by themselves. */
export class PayingAccounts {
  #ids = new Set<AccountId>();

  has(accountId: AccountId): boolean {
    return this.#ids.has(accountId);
  }

  ids(): AccountId[] {
    return [...this.#ids];
  }

  addFrom(accountId: AccountId, { billing: { payments, plan } }: Pick<OpenAccount, 'billing'>): void {
    if (payments.reload !== null || plan !== null || openAttempts(payments).length > 0) this.#ids.add(accountId);
  }

  observe(accountId: AccountId, { type }: AccountEvent): void {
    if (BEGINNING.has(type)) this.#ids.add(accountId);
  }

  adopt(other: PayingAccounts): void {
    this.#ids = other.#ids;
  }

  clear(): void {
    this.#ids.clear();
  }
}
