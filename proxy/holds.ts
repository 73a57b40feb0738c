import type { AccountId, KeyId, LeaseId, RequestId } from '../contracts/ids.ts';
import { type MicroUsd, microUsd } from '../contracts/money.ts';
import { PassingMap } from '../contracts/passing-map.ts';
import type { StartedHold } from '../ledger/account/paid-by-expired.ts';
import { HeldByMembers } from './held-by-members.ts';

export interface Hold {
  readonly accountId: AccountId;
  readonly keyId: KeyId;
  /** The month of the request's start, whose limits it counts against. */
  readonly month: string;
  readonly amount: MicroUsd;
  /** What it was admitted under; null where one proxy has all of an account's credit. */
  readonly leaseId: LeaseId | null;
  /** The request's start, which the ledger has it pay by. */
  readonly startedAtMs: number;
}

/** A hold and the names of the sums that it counts in. */
interface PlacedHold {
  amount: bigint;
  readonly accountId: AccountId;
  readonly keyId: KeyId;
  /** Its account and month, as the sum of the two is called. */
  readonly ofMonth: string;
  readonly firstStartMs: number;
  readonly lastStartMs: number;
  readonly sums: readonly string[];
}

/** What requests under way could cost until their debit is folded. In memory: a restart settles the journal's. */
export class Holds {
  readonly #holds = new PassingMap<RequestId, PlacedHold>();
  readonly #sums = new Map<string, bigint>();
  readonly #ofAccounts = new PassingMap<AccountId, PassingMap<RequestId, PlacedHold>>();
  /** By account and month, from the first that asks until nothing is held in it: most accounts have no member with a limit. */
  readonly #byMembers = new Map<string, HeldByMembers>();
  #onFreed: ((accountId: AccountId) => void) | null = null;

  /** Who is told as an account's holds fall. */
  onFreed(listener: (accountId: AccountId) => void): void {
    this.#onFreed = listener;
  }

  /** Requests that hold something or nothing, but are not settled. */
  get count(): number {
    return this.#holds.size;
  }

  /** Of all of them together. */
  get amount(): MicroUsd {
    let amount = 0n;
    for (const hold of this.#holds) amount += hold.amount;
    return microUsd(amount);
  }

  has(requestId: RequestId): boolean {
    return this.#holds.has(requestId);
  }

  place(requestId: RequestId, { accountId, keyId, month, amount, leaseId, startedAtMs }: Hold): void {
    if (this.#holds.has(requestId)) throw new Error(`${requestId} holds already`);
    const ofMonth = `${accountId} ${month}`;
    const sums = [accountId, ofMonth, `${ofMonth} ${keyId}`];
    if (leaseId !== null) sums.push(`${accountId} ${leaseId}`, `${accountId} ${leaseId} ${keyId}`);
    const started = { firstStartMs: startedAtMs, lastStartMs: startedAtMs };
    const placed: PlacedHold = { amount: 0n, accountId, keyId, ofMonth, ...started, sums };
    this.#holds.set(requestId, placed);
    let ofAccount = this.#ofAccounts.get(accountId);
    if (ofAccount === undefined) {
      ofAccount = new PassingMap();
      this.#ofAccounts.set(accountId, ofAccount);
    }
    ofAccount.set(requestId, placed);
    this.#change(placed, amount);
  }

  /** Lowers a hold to what the request has cost, once that is known. Never raises it: what was admitted is the bound. */
  lower(requestId: RequestId, amount: MicroUsd): void {
    const hold = this.#holds.get(requestId);
    if (hold !== undefined && amount < hold.amount) this.#change(hold, amount);
  }

  release(requestId: RequestId): void {
    const hold = this.#holds.get(requestId);
    if (hold === undefined) return;
    this.#holds.delete(requestId);
    const ofAccount = this.#ofAccounts.get(hold.accountId);
    ofAccount?.delete(requestId);
    if (ofAccount?.size === 0) this.#ofAccounts.delete(hold.accountId);
    this.#change(hold, 0n);
  }

  ofAccount(accountId: AccountId): MicroUsd {
    return this.#sum(accountId);
  }

  /** An account's holds one by one. */
  each(accountId: AccountId): Iterable<StartedHold> {
    return this.#ofAccounts.get(accountId) ?? [];
  }

  ofAccountMonth(accountId: AccountId, month: string): MicroUsd {
    return this.#sum(`${accountId} ${month}`);
  }

  ofKeyMonth(accountId: AccountId, keyId: KeyId, month: string): MicroUsd {
    return this.#sum(`${accountId} ${month} ${keyId}`);
  }

  /**
   * Of all keys of a member together, in as many steps whatever their number.
   * @param memberOf whose a key is, called as `member` is; null is not known
   */
  ofMemberMonth(
    accountId: AccountId,
    { member, month }: { readonly member: string; readonly month: string },
    memberOf: (keyId: KeyId) => string | null,
  ): MicroUsd {
    const ofMonth = `${accountId} ${month}`;
    if (!this.#sums.has(ofMonth)) return microUsd(0n);
    let byMembers = this.#byMembers.get(ofMonth);
    if (byMembers === undefined) {
      byMembers = new HeldByMembers();
      this.#byMembers.set(ofMonth, byMembers);
      for (const hold of this.#ofAccounts.get(accountId) ?? [])
        if (hold.ofMonth === ofMonth) byMembers.change(hold.keyId, hold.amount);
    }
    return microUsd(byMembers.of(member, memberOf));
  }

  ofLease(accountId: AccountId, leaseId: LeaseId): MicroUsd {
    return this.#sum(`${accountId} ${leaseId}`);
  }

  ofKeyLease(accountId: AccountId, keyId: KeyId, leaseId: LeaseId): MicroUsd {
    return this.#sum(`${accountId} ${leaseId} ${keyId}`);
  }

  #sum(name: string): MicroUsd {
    return microUsd(this.#sums.get(name) ?? 0n);
  }

  #change(hold: PlacedHold, amount: bigint): void {
    const difference = amount - hold.amount;
    hold.amount = amount;
    if (difference === 0n) return;
    for (const name of hold.sums) {
      const sum = (this.#sums.get(name) ?? 0n) + difference;
      if (sum < 0n) throw new Error(`holds of ${name} fell to ${sum}`);
      if (sum === 0n) this.#sums.delete(name);
      else this.#sums.set(name, sum);
    }
    if (!this.#sums.has(hold.ofMonth)) this.#byMembers.delete(hold.ofMonth);
    else this.#byMembers.get(hold.ofMonth)?.change(hold.keyId, difference);
    if (difference < 0n) this.#onFreed?.(hold.accountId);
  }
}
