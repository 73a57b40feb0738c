import type { Logger } from 'pino';
import { type AccountId, type KeyId, keyId, type LeaseId } from '../../contracts/ids.ts';
import { type MicroUsd, microUsd } from '../../contracts/money.ts';
import { isAsideReason } from '../../ledger/account/account-repository.ts';
import type { Lease } from '../../ledger/account/account-state.ts';
import type { Timing } from '../../ledger/timing.ts';
import type { AccountViews } from '../../projections/account-views.ts';
import { isOfOperator } from '../../projections/accounts-set-aside.ts';
import type { Holds } from '../holds.ts';
import type { CreditLeases } from './credit-leases.ts';
import type { LeaseQueue } from './lease-queue.ts';

/** A lease that nothing was admitted under for so long is given back. */
const IDLE_MS = 10_000;
/** How often leases are looked through for that, and for renewal. */
const LOOK_MS = 1_000;
/** After a change of an account its leases are looked at once, for all changes of this time together. */
const GATHER_MS = 5;
/** Appends of upkeep under way at once. */
const AT_ONCE = 16;

interface LeaseUpkeepOptions {
  readonly leases: CreditLeases;
  readonly queue: LeaseQueue;
  readonly accounts: AccountViews;
  readonly holds: Holds;
  readonly clock: () => number;
  readonly timing: Timing;
  readonly logger: Logger;
}

/**
 * Keeps this proxy's leases as small as they may be: what is not held is given back where it is needed more by others
 * (little is free) or where the lease is idle; what is used is renewed in time. After a failure the next look tries
 * again, and at worst the clock ends the lease.
 */
export class LeaseUpkeep {
  readonly #options: LeaseUpkeepOptions;
  /** Accounts in which this proxy has a lease. */
  readonly #accounts = new Set<AccountId>();
  readonly #changed = new Set<AccountId>();
  readonly #underWay = new Map<AccountId, Promise<void>>();
  /** When leases end that were renewed since their account was parked here, from when on its view stands still. */
  readonly #parkedUntil = new Map<AccountId, Map<LeaseId, number>>();
  readonly #closing = new AbortController();
  #isStarted = false;
  #isGathering = false;

  constructor(options: LeaseUpkeepOptions) {
    this.#options = options;
    options.accounts.onFolded((accountId) => this.#observe(accountId));
  }

  /** Once the name is claimed and what earlier runs admitted is held: sooner nobody knows what is needed. */
  start(): void {
    if (this.#isClosed || this.#isStarted) return;
    this.#isStarted = true;
    for (const [accountId] of this.#options.accounts.balance.loaded()) this.#observe(accountId);
    void this.#keepLooking();
  }

  async #keepLooking(): Promise<void> {
    while (!this.#isClosed) {
      await this.#options.timing.pause(LOOK_MS, this.#closing.signal);
      if (!this.#isClosed) this.#lookAt(this.#accounts, true);
    }
  }

  /** Gives back everything that holds nothing, and stops. Bounded by the log's own deadlines. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#underWay.values());
    const accounts = !this.#isStarted ? [] : [...this.#accounts];
    while (accounts.length > 0)
      await Promise.all(accounts.splice(0, AT_ONCE).map((accountId) => this.#keep(accountId, () => NONE)));
  }

  #observe(accountId: AccountId): void {
    if (this.#ownLeases(accountId).length === 0) {
      if (this.#accounts.delete(accountId)) this.#options.leases.forget(accountId);
      return;
    }
    this.#accounts.add(accountId);
    this.#changed.add(accountId);
    this.#gather();
  }

  #gather(): void {
    if (this.#isClosed || !this.#isStarted || this.#isGathering) return;
    this.#isGathering = true;
    this.#options.timing.later(GATHER_MS, () => {
      this.#isGathering = false;
      if (this.#isClosed) return;
      const changed = [...this.#changed];
      this.#changed.clear();
      this.#lookAt(changed, false);
    });
  }

  get #isClosed(): boolean {
    return this.#closing.signal.aborted;
  }

  #lookAt(accounts: Iterable<AccountId>, isRegular: boolean): void {
    for (const accountId of accounts) {
      if (this.#underWay.has(accountId) || !this.#needsKeeping(accountId, isRegular)) continue;
      if (this.#underWay.size >= AT_ONCE) {
        if (isRegular) return;
        // Looked at once one has ended: by the next regular look nobody waits any more for what it has to give back.
        this.#changed.add(accountId);
        continue;
      }
      const keeping = this.#keep(accountId, (lease) => this.#surplusToKeep(accountId, lease)).finally(() => {
        this.#underWay.delete(accountId);
        if (this.#changed.size > 0) this.#gather();
      });
      this.#underWay.set(accountId, keeping);
    }
  }

  #needsKeeping(accountId: AccountId, isRegular: boolean): boolean {
    const { accounts, leases } = this.#options;
    const why = accounts.whyAside(accountId);
    if (why !== null) return isRegular && isOfOperator(why) && this.#toRenewParked(accountId).length > 0;
    this.#parkedUntil.delete(accountId);
    if (leases.isInDoubt(accountId)) return true;
    return this.#ownLeases(accountId).some(
      (lease) =>
        this.#toNarrow(accountId, lease).length > 0 ||
        this.#toRelease(accountId, lease, this.#surplusToKeep(accountId, lease)) > 0n ||
        (isRegular && this.#toRenew(accountId, lease)),
    );
  }

  async #keep(accountId: AccountId, surplusToKeep: (lease: Lease) => MicroUsd): Promise<void> {
    const { accounts, leases, logger } = this.#options;
    try {
      if (accounts.whyAside(accountId) !== null) {
        await this.#keepParked(accountId);
        return;
      }
      await leases.repeatReleases(accountId);
      for (const { leaseId } of this.#ownLeases(accountId)) {
        // Looked up again: while one is given back, the others are used and settled under.
        const find = (): Lease | undefined => this.#ownLeases(accountId).find((own) => own.leaseId === leaseId);
        for (const key of this.#toNarrow(accountId, find())) await leases.narrow(accountId, leaseId, key);
        const lease = find();
        if (lease === undefined) continue;
        const amount = this.#toRelease(accountId, lease, surplusToKeep(lease));
        if (amount > 0n) await leases.release(accountId, leaseId, amount);
        else if (!this.#isClosed && this.#toRenew(accountId, lease)) await leases.renew(accountId, lease);
      }
    } catch (error) {
      logger.debug({ err: error }, 'a lease was not kept up; the next look tries again');
    }
  }

  /** What has ended by then waits, held, for as long as the account is parked: by the lease alone others know of it. */
  async #keepParked(accountId: AccountId): Promise<void> {
    const { leases, clock } = this.#options;
    for (const lease of this.#toRenewParked(accountId)) {
      const untils = this.#parkedUntil.get(accountId) ?? new Map<LeaseId, number>();
      this.#parkedUntil.set(accountId, untils);
      const endMs = leases.endOfLease(clock());
      try {
        await leases.renewParked(accountId, lease);
      } catch (error) {
        // Nothing is appended behind what cannot be read: tried again as late as though it were renewed.
        if (!isAsideReason(error)) throw error;
      }
      untils.set(lease.leaseId, endMs);
    }
  }

  #toRenewParked(accountId: AccountId): Lease[] {
    const { leases, holds } = this.#options;
    const untils = this.#parkedUntil.get(accountId);
    return this.#ownLeases(accountId).filter(
      ({ leaseId, expiresAtMs }) =>
        holds.ofLease(accountId, leaseId) > 0n && leases.isAgeing(untils?.get(leaseId) ?? expiresAtMs),
    );
  }

  /** What a lease may have in hand beyond its holds: nothing when idle; else a share of what is free. */
  #surplusToKeep(accountId: AccountId, lease: Lease): MicroUsd {
    const { leases, accounts, clock } = this.#options;
    const { state } = accounts.read(accountId);
    if (state.type === 'unopened' || clock() - leases.lastUsedMs(accountId, lease.leaseId) > IDLE_MS) return NONE;
    return leases.share(state, lease);
  }

  /** Twice the share may stand before anything is given back, so that leases do not go back and forth. */
  #toRelease(accountId: AccountId, { leaseId, amount }: Lease, surplusToKeep: MicroUsd): MicroUsd {
    const { holds, leases, queue } = this.#options;
    if (queue.isWaiting(accountId, leaseId)) return NONE;
    const surplus = amount - holds.ofLease(accountId, leaseId) - leases.givingBack(accountId, leaseId);
    return surplus > 2n * surplusToKeep ? microUsd(surplus - surplusToKeep) : NONE;
  }

  /** Keys that could take more of a lease, for all that the log knows, than their requests from before their limit hold. */
  #toNarrow(accountId: AccountId, lease: Lease | undefined): KeyId[] {
    const { holds } = this.#options;
    if (lease === undefined) return [];
    const { leaseId, beforeLimit } = lease;
    return Object.entries(beforeLimit)
      .filter(([key, atMost]) => holds.ofKeyLease(accountId, keyId(key), leaseId) < atMost)
      .map(([key]) => keyId(key));
  }

  #toRenew(accountId: AccountId, { leaseId, expiresAtMs }: Lease): boolean {
    const { leases, holds, clock } = this.#options;
    if (!leases.isAgeing(expiresAtMs)) return false;
    const isUsed = clock() - leases.lastUsedMs(accountId, leaseId) <= IDLE_MS;
    return isUsed || holds.ofLease(accountId, leaseId) > 0n;
  }

  #ownLeases(accountId: AccountId): Lease[] {
    const { accounts, leases } = this.#options;
    const { state } = accounts.read(accountId);
    if (state.type === 'unopened') return [];
    return Object.values(state.leases).filter((lease) => leases.owns(lease));
  }
}

const NONE = microUsd(0n);
