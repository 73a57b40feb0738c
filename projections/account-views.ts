import type { EventWithoutId } from '../contracts/event-log.ts';
import type { AccountEvent } from '../contracts/events.ts';
import { type AccountId, accountStream, type Revision, revision } from '../contracts/ids.ts';
import { accountEventOf, cannotFollow } from '../ledger/account/account-event.ts';
import type { AccountRepository, AsideReason } from '../ledger/account/account-repository.ts';
import { AccountUnreadableError } from '../ledger/account/account-unreadable-error.ts';
import type { AccountSnapshot } from '../ledger/account/load-account.ts';
import { AccountProducts } from './account-products.ts';
import { AccountsSetAside } from './accounts-set-aside.ts';
import { BalanceView } from './balance-view.ts';
import { inTurns } from './in-turns.ts';
import { KeyIndex } from './key-index.ts';
import { VIEW_LIMITS } from './limits.ts';
import { MonthlyView } from './monthly-view.ts';
import { PayingAccounts } from './paying-accounts.ts';
import { SpendLimits } from './spend-limits.ts';
import { UnclosedAccounts } from './unclosed-accounts.ts';
import type { View } from './view.ts';
import { ViewGapError } from './view-gap-error.ts';

type Fold = (accountId: AccountId, revision: Revision, event: AccountEvent) => void;

/** The views of all accounts, folded together. What settlement and admission of one process share. */
export class AccountViews implements AccountRepository {
  readonly balance = new BalanceView();
  readonly spendLimits = new SpendLimits(this.balance);
  readonly monthly = new MonthlyView();
  readonly keys = new KeyIndex();
  readonly paying = new PayingAccounts();
  readonly unclosed = new UnclosedAccounts();
  readonly products = new AccountProducts();
  readonly setAside = new AccountsSetAside();
  readonly all: readonly View[] = [this.balance, this.monthly];
  #mirror: Fold | null = null;
  /** Of accounts that are set aside here, and whose events others had folded: how far who listens here has been told of them. */
  readonly #toldUpTo = new Map<AccountId, Revision>();
  readonly #listeners: ((accountId: AccountId, event: AccountEvent) => void)[] = [];

  /** Of views that were restored: what admission asks of all accounts, so that it need not read each; others have their turns. @throws as `restore` */
  survey(): Promise<void> {
    return inTurns(this.#surveying(), VIEW_LIMITS.foldsPerTurn);
  }

  read(accountId: AccountId): AccountSnapshot {
    return this.balance.read(accountId);
  }

  /** Whether every view has folded the event, so that it need not even be decoded. */
  hasFolded(accountId: AccountId, revision: Revision): boolean {
    return this.foldedUpTo(accountId) >= revision;
  }

  /** The last revision that all views have folded; -1 where there is none. */
  foldedUpTo(accountId: AccountId): Revision {
    const [balance, monthly] = [this.balance.revisionOf(accountId), this.monthly.revisionOf(accountId)];
    return balance < monthly ? balance : monthly;
  }

  /** Whether nothing of the event is to be waited for: it is folded, or left until the account can be read. */
  isTaken(accountId: AccountId, at: Revision): boolean {
    const from = this.setAside.unreadableFrom(accountId);
    return (from !== null && at >= from) || this.hasFolded(accountId, at);
  }

  /**
   * Takes a stored event of an account. One that cannot be read or applied sets the account aside: it and what stands
   * behind it wait in the ledger until the account can be read again (take-back.ts). Returns what it has read, where that is
   * folded. @throws ViewGapError
   */
  take(accountId: AccountId, recorded: EventWithoutId): AccountEvent | null {
    if (this.setAside.unreadableFrom(accountId) !== null) this.#leave(accountId, recorded);
    // What is folded need not be decoded.
    else if (!this.hasFolded(accountId, recorded.revision)) return this.#foldOrLeave(accountId, recorded);
    return null;
  }

  /** @throws ViewGapError; AccountUnreadableError */
  fold(accountId: AccountId, revision: Revision, event: AccountEvent): void {
    // Brings what stands in the views' file, too: that it cannot be read is no fault of the event.
    const upTo = this.foldedUpTo(accountId);
    if (upTo >= revision) {
      this.#tellLate(accountId, revision, event);
      return;
    }
    // Before any view takes it: one that is ahead of another would be what the next append is decided by.
    if (upTo + 1 < revision) throw new ViewGapError(accountStream(accountId), { last: upTo, found: revision });
    const taken = this.keys.observe(accountId, event);
    if (taken !== null) throw cannotFollow(accountId, revision, event, new Error(taken));
    try {
      for (const view of this.all) view.apply(accountId, revision, event);
    } catch (error) {
      if (error instanceof ViewGapError) throw error;
      throw cannotFollow(accountId, revision, event, error);
    }
    this.paying.observe(accountId, event);
    this.unclosed.observe(accountId, event);
    this.products.observe(event);
    for (const listener of this.#listeners) listener(accountId, event);
    this.#mirror?.(accountId, revision, event);
  }

  /** Each event that is folded here from now on is folded there, too. */
  mirrorTo(mirror: Fold | null): void {
    this.#mirror = mirror;
  }

  /** The last revision that who listens here has been told of, or found folded. */
  toldUpTo(accountId: AccountId): Revision {
    const folded = this.foldedUpTo(accountId);
    return revision(Math.min(this.#toldUpTo.get(accountId) ?? folded, folded));
  }

  /**
   * Before another one's accounts are taken over: what it has folded of accounts that are set aside here is still to be told to who
   * listens here, which may wait for it. Until it was, they are set aside there, too.
   */
  keepUntold(other: AccountViews): void {
    for (const accountId of this.setAside.accountsOf('unreadable')) {
      const told = this.toldUpTo(accountId);
      const folded = other.foldedUpTo(accountId);
      if (folded <= told) continue;
      this.#toldUpTo.set(accountId, told);
      other.setAside.left(accountId, folded);
      if (other.setAside.unreadableFrom(accountId) !== null) continue;
      other.putAside(accountId, new AccountUnreadableError(accountId, revision(told + 1), 'it is being read again'));
    }
  }

  /** All accounts are as another one has them, from here on in one step; who listens here goes on to listen. */
  adopt(other: AccountViews): void {
    this.balance.adopt(other.balance);
    this.monthly.adopt(other.monthly);
    this.keys.adopt(other.keys);
    this.paying.adopt(other.paying);
    this.unclosed.adopt(other.unclosed);
    this.products.adopt(other.products);
    // Last, because whoever is told of an account that is served again reads it.
    this.setAside.adopt(other.setAside);
  }

  /** Of which products there are accounts, where none is of this one; none where one is, or may be: one that was set aside before anything of it could be read. */
  otherProducts(product: string): readonly string[] {
    if (!this.products.lack(product)) return [];
    const aside = [...this.setAside.accountsOf('unreadable'), ...this.setAside.accountsOf('hidden')];
    const areRead = aside.every((accountId) => this.balance.glance(accountId).state.type === 'open');
    return areRead ? this.products.names : [];
  }

  onFolded(listener: (accountId: AccountId, event: AccountEvent) => void): void {
    this.#listeners.push(listener);
  }

  whyAside(accountId: AccountId): string | null {
    return this.setAside.whyOf(accountId);
  }

  putAside(accountId: AccountId, reason: AsideReason): void {
    this.setAside.put(accountId, reason);
  }

  onReturned(listener: (accountId: AccountId) => void): void {
    this.setAside.onChanged((accountId, why) => {
      if (why === null) listener(accountId);
    });
  }

  #tellLate(accountId: AccountId, at: Revision, event: AccountEvent): void {
    const told = this.#toldUpTo.get(accountId);
    if (told === undefined || at <= told) return;
    if (at < this.foldedUpTo(accountId)) this.#toldUpTo.set(accountId, at);
    else this.#toldUpTo.delete(accountId);
    for (const listener of this.#listeners) listener(accountId, event);
  }

  #surveying(): Generator<void> {
    return this.balance.survey(
      (accountId, state, revision) => {
        this.paying.addFrom(accountId, state);
        this.unclosed.addFrom(accountId, { state, revision });
        this.products.addFrom(state);
      },
      (accountId, key) => this.keys.addFrom(accountId, key),
    );
  }

  #foldOrLeave(accountId: AccountId, recorded: EventWithoutId): AccountEvent | null {
    try {
      const event = accountEventOf(accountId, recorded);
      this.fold(accountId, recorded.revision, event);
      return event;
    } catch (error) {
      if (!(error instanceof AccountUnreadableError)) throw error;
      this.putAside(accountId, error);
      this.#leave(accountId, recorded);
      return null;
    }
  }

  /** Whoever has a key of the account is to be told that it is set aside, not that nobody knows the key. */
  #leave(accountId: AccountId, recorded: EventWithoutId): void {
    this.setAside.left(accountId, recorded.revision);
    this.keys.note(accountId, recorded);
  }
}
