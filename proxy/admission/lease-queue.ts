import type { Logger } from 'pino';
import type { AccountId } from '../../contracts/ids.ts';
import { type MicroUsd, microUsd } from '../../contracts/money.ts';
import type { OpenAccount } from '../../ledger/account/account-state.ts';
import { leasedToOthers } from '../../ledger/account/leases.ts';
import type { AccountViews } from '../../projections/account-views.ts';
import type { CreditLeases, LeaseScope } from './credit-leases.ts';

/**
 * How long a request waits for other proxies to give back what they do not need: half of it to one and a half, so that
 * of proxies which wait for one another one gives up first, and its rest goes to the others.
 */
const RECLAIM_MS = 250;
/** How long a request waits for its lease in all, before it is refused because the log is slow. */
const LEASE_WAIT_MS = 5_000;
/** Requests that wait for leases in one proxy. */
const WAITING_MAX = 10_000;

/** Why a request that needs a lease did not get it. */
export type NoLease = 'none_free' | 'log_away' | 'too_many_waiting';

export interface LeaseWait {
  readonly scope: LeaseScope;
  readonly need: MicroUsd;
  /** Holds the request under the lease where there is room; false where there is not. Called in one turn with the look. */
  readonly tryHold: () => boolean;
}

interface Waiting extends LeaseWait {
  /** Until when it waits for what others give back. */
  readonly reclaimUntilMs: number;
  readonly resolve: (outcome: 'held' | NoLease) => void;
}

export interface LeaseQueueOptions {
  readonly leases: CreditLeases;
  readonly accounts: AccountViews;
  readonly clock: () => number;
  readonly logger: Logger;
  /** Whether the event log is known to be out of reach: then nobody need wait to learn it. */
  readonly isLogAway: () => boolean;
}

/**
 * Requests that wait for credit to be leased. Those of one account wait together: one event leases for all of them,
 * and they are held in the order in which they came; one that does not fit does not stand in the way of a smaller one.
 */
export class LeaseQueue {
  readonly #options: LeaseQueueOptions;
  readonly #waiting = new Map<AccountId, Waiting[]>();
  readonly #running = new Set<AccountId>();
  readonly #foldWaiters = new Map<AccountId, () => void>();
  #count = 0;

  constructor(options: LeaseQueueOptions) {
    this.#options = options;
    options.accounts.onFolded((accountId) => this.#foldWaiters.get(accountId)?.());
  }

  /** Resolves `held` once `tryHold` has said true; otherwise why not. */
  whenHeld(accountId: AccountId, wait: LeaseWait): Promise<'held' | NoLease> {
    if (this.#count >= WAITING_MAX) return Promise.resolve('too_many_waiting');
    if (this.#options.isLogAway()) return Promise.resolve('log_away');
    this.#count++;
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(accountId) ?? [];
      const reclaimUntilMs = this.#options.clock() + RECLAIM_MS * (0.5 + Math.random());
      waiting.push({ ...wait, reclaimUntilMs, resolve });
      this.#waiting.set(accountId, waiting);
      if (!this.#running.has(accountId)) void this.#run(accountId);
    });
  }

  /** Leases a fresh share before the last is used up, so that requests need not wait. Failures cost only the wait. */
  refill(accountId: AccountId, scope: LeaseScope): void {
    if (this.#running.has(accountId) || this.#options.isLogAway()) return;
    this.#running.add(accountId);
    this.#extend(accountId, scope, 0n)
      .catch((error: unknown) => this.#options.logger.warn({ err: error }, 'a lease was not refilled'))
      .finally(() => {
        this.#running.delete(accountId);
        if (this.#waiting.has(accountId)) void this.#run(accountId);
      });
  }

  /** Whether requests of an account wait: then nothing of its leases is given back. */
  isWaiting(accountId: AccountId): boolean {
    return this.#waiting.has(accountId);
  }

  async #run(accountId: AccountId): Promise<void> {
    this.#running.add(accountId);
    try {
      for (;;) {
        this.#holdWhatFits(accountId);
        const [first] = this.#waiting.get(accountId) ?? [];
        if (first === undefined) return;
        await this.#extend(accountId, first.scope, this.#needOf(accountId, first.scope));
        this.#holdWhatFits(accountId);
        await this.#refuseOrWait(accountId, first);
      }
    } catch (error) {
      this.#options.logger.warn({ err: error }, 'no credit could be leased');
      this.#resolveAll(accountId, () => 'log_away');
    } finally {
      this.#running.delete(accountId);
      this.#waiting.delete(accountId);
    }
  }

  /** After everything that is free was leased: who still does not fit waits for others to give back, a little. */
  async #refuseOrWait(accountId: AccountId, first: Waiting): Promise<void> {
    const nowMs = this.#options.clock();
    this.#resolveAll(accountId, (waiting) => {
      if (waiting.scope.leaseId !== first.scope.leaseId) return null;
      return waiting.reclaimUntilMs > nowMs && this.#mayComeBack(accountId, waiting) ? null : 'none_free';
    });
    if (this.#waiting.get(accountId)?.includes(first) === true) await this.#nextFold(accountId);
  }

  #mayComeBack(accountId: AccountId, { scope, need }: Waiting): boolean {
    const { leases, accounts, clock } = this.#options;
    const account = openAccount(accounts, accountId);
    const others = leasedToOthers(account, scope.keyId, leases.proxy, clock()).account;
    return leases.room(accountId, account, scope) + others >= need;
  }

  #extend(accountId: AccountId, scope: LeaseScope, need: bigint): Promise<void> {
    const { leases, accounts } = this.#options;
    const timeOut = Promise.withResolvers<never>();
    const timer = setTimeout(
      () => timeOut.reject(new Error(`the event log did not answer for ${LEASE_WAIT_MS} ms`)),
      LEASE_WAIT_MS,
    );
    const extended = leases.extend(accountId, openAccount(accounts, accountId), scope, microUsd(need));
    return Promise.race([extended, timeOut.promise]).finally(() => clearTimeout(timer));
  }

  #needOf(accountId: AccountId, scope: LeaseScope): bigint {
    return (this.#waiting.get(accountId) ?? [])
      .filter((waiting) => waiting.scope.leaseId === scope.leaseId)
      .reduce((sum, { need }) => sum + need, 0n);
  }

  #holdWhatFits(accountId: AccountId): void {
    this.#resolveAll(accountId, (waiting) => (waiting.tryHold() ? 'held' : null));
  }

  /** Resolves those that have an outcome; the others wait on. */
  #resolveAll(accountId: AccountId, outcomeOf: (waiting: Waiting) => 'held' | NoLease | null): void {
    const left = (this.#waiting.get(accountId) ?? []).filter((waiting) => {
      const outcome = outcomeOf(waiting);
      if (outcome === null) return true;
      this.#count--;
      waiting.resolve(outcome);
      return false;
    });
    if (left.length > 0) this.#waiting.set(accountId, left);
    else this.#waiting.delete(accountId);
  }

  #nextFold(accountId: AccountId): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => done(), RECLAIM_MS / 5);
      const done = (): void => {
        clearTimeout(timer);
        this.#foldWaiters.delete(accountId);
        resolve();
      };
      this.#foldWaiters.set(accountId, done);
    });
  }
}

function openAccount(accounts: AccountViews, accountId: AccountId): OpenAccount {
  const { state } = accounts.read(accountId);
  if (state.type === 'unopened') throw new Error(`${accountId} was authenticated and is not open`);
  return state;
}
