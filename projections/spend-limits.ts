import type { AccountId, KeyId } from '../contracts/ids.ts';
import type { MicroUsd } from '../contracts/money.ts';
import { INITIAL_SPEND, type SpendState } from '../ledger/account/account-state.ts';
import { monthOfSpend, spentByKey } from '../ledger/account/spend.ts';
import type { BalanceView } from './balance-view.ts';

export interface SpendAgainstLimit {
  /** Micro-USD per calendar month; null is no limit. */
  readonly limit: MicroUsd | null;
  readonly spent: MicroUsd;
}

/** Monthly limits of accounts and keys and what was spent against them, by month: read from the accounts' own state. */
export class SpendLimits {
  readonly #balance: Pick<BalanceView, 'read'>;

  constructor(balance: Pick<BalanceView, 'read'>) {
    this.#balance = balance;
  }

  ofAccount(id: AccountId, month: string): SpendAgainstLimit {
    const spend = this.#spendOf(id);
    return { limit: spend.accountLimit, spent: monthOfSpend(spend, month).account };
  }

  ofKey(id: AccountId, keyId: KeyId, month: string): SpendAgainstLimit {
    const spend = this.#spendOf(id);
    return { limit: spend.keyLimits[keyId] ?? null, spent: spentByKey(monthOfSpend(spend, month), keyId) };
  }

  #spendOf(id: AccountId): SpendState {
    const { state } = this.#balance.read(id);
    return state.type === 'open' ? state.spend : INITIAL_SPEND;
  }
}
