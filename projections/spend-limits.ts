import type { AccountId, KeyId } from '../contracts/ids.ts';
import type { MicroUsd } from '../contracts/money.ts';
import { INITIAL_SPEND, type SpendState } from '../ledger/account/account-state.ts';
import { entryOf } from '../ledger/account/keyed-tree.ts';
import { monthOfSpend, spentByKey, spentByMember } from '../ledger/account/spend.ts';
import { memberLimitOf } from '../ledger/account/spend-limits.ts';
import type { BalanceView } from './balance-view.ts';

export interface SpendAgainstLimit {
  /** Micro-USD per calendar month, beyond which is refused; null is no limit. */
  readonly limit: MicroUsd | null;
  readonly spent: MicroUsd;
}

/** Hard monthly limits of accounts, members and keys and what was spent against them, by month: read from the accounts' own state. */
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
    return { limit: entryOf(spend.keyLimits, keyId) ?? null, spent: spentByKey(monthOfSpend(spend, month), keyId) };
  }

  /** Of the member whose a key is; null where that has none. */
  ofMember(id: AccountId, keyId: KeyId, month: string): SpendAgainstLimit | null {
    const { state } = this.#balance.read(id);
    const of = state.type === 'open' ? memberLimitOf(state, keyId) : null;
    if (state.type !== 'open' || of === null) return null;
    return { limit: of.limit, spent: spentByMember(state, monthOfSpend(state.spend, month), of.member) };
  }

  #spendOf(id: AccountId): SpendState {
    const { state } = this.#balance.read(id);
    return state.type === 'open' ? state.spend : INITIAL_SPEND;
  }
}
