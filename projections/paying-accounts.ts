import type { AccountEvent } from '../contracts/events.ts';
import type { AccountId } from '../contracts/ids.ts';
import type { OpenAccount } from '../ledger/account/account-state.ts';
import { openAttempts } from '../ledger/account/payments.ts';
import { OpenPayments } from './open-payments.ts';

const BEGINNING: ReadonlySet<string> = new Set(['PurchaseStarted', 'AutoReloadConfigured', 'PlanChanged']);

/** Accounts that have a payment open, auto-reload, or a plan: the few that are looked at by themselves. */
export class PayingAccounts {
  readonly open = new OpenPayments();
  #ids = new Set<AccountId>();

  has(accountId: AccountId): boolean {
    return this.#ids.has(accountId);
  }

  ids(): AccountId[] {
    return [...this.#ids];
  }

  addFrom(accountId: AccountId, { billing: { payments, plan } }: Pick<OpenAccount, 'billing'>): void {
    if (payments.reload !== null || plan !== null || openAttempts(payments).length > 0) this.#ids.add(accountId);
    this.open.addFrom(accountId, payments);
  }

  observe(accountId: AccountId, event: AccountEvent): void {
    if (BEGINNING.has(event.type)) this.#ids.add(accountId);
    this.open.observe(accountId, event);
  }

  adopt(other: PayingAccounts): void {
    this.#ids = other.#ids;
    this.open.adopt(other.open);
  }

  clear(): void {
    this.#ids.clear();
    this.open.clear();
  }
}
