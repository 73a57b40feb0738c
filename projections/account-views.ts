import type { AccountEvent } from '../contracts/events.ts';
import { type AccountId, accountStream, type Revision } from '../contracts/ids.ts';
import type { AccountBook } from '../ledger/account/account-book.ts';
import type { AccountSnapshot } from '../ledger/account/load-account.ts';
import { AccountsSetAside } from './accounts-set-aside.ts';
import { BalanceView } from './balance-view.ts';
import { KeyIndex } from './key-index.ts';
import { MonthlyView } from './monthly-view.ts';
import { SpendLimitView } from './spend-limit-view.ts';
import type { View } from './view.ts';
import { ViewGapError } from './view-gap-error.ts';

/** The views of all accounts, folded together. What settlement and admission of one process share. */
export class AccountViews implements AccountBook {
  readonly balance = new BalanceView();
  readonly spendLimits = new SpendLimitView();
  readonly monthly = new MonthlyView();
  readonly keys = new KeyIndex();
  readonly setAside = new AccountsSetAside();
  readonly all: readonly View[] = [this.balance, this.spendLimits, this.monthly];
  readonly #listeners: ((accountId: AccountId, event: AccountEvent) => void)[] = [];

  read(accountId: AccountId): AccountSnapshot {
    return this.balance.read(accountId);
  }

  /** Whether every view has folded the event, so that it need not even be decoded. */
  hasFolded(accountId: AccountId, revision: Revision): boolean {
    return this.all.every((view) => view.revisionOf(accountId) >= revision);
  }

  fold(accountId: AccountId, revision: Revision, event: AccountEvent): void {
    let taken = false;
    for (const view of this.all) {
      const last = view.revisionOf(accountId);
      if (revision <= last) continue;
      if (revision !== last + 1) throw new ViewGapError(accountStream(accountId), { last, found: revision });
      view.apply(accountId, revision, event);
      taken = true;
    }
    if (!taken) return;
    this.keys.observe(accountId, event);
    for (const listener of this.#listeners) listener(accountId, event);
  }

  onFolded(listener: (accountId: AccountId, event: AccountEvent) => void): void {
    this.#listeners.push(listener);
  }
}
