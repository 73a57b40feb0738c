import type { AccountId, KeyId } from '../../contracts/ids.ts';
import type { MicroUsd } from '../../contracts/money.ts';
import type { OpenAccount } from '../../ledger/account/account-state.ts';
import { leasedToOthers } from '../../ledger/account/leases.ts';
import { CreditLeases, type CreditLeasesOptions, type LeaseScope } from './credit-leases.ts';
import { LeaseQueue } from './lease-queue.ts';
import { LeaseUpkeep } from './lease-upkeep.ts';

export interface CreditFleetOptions extends CreditLeasesOptions {
  /** Whether the event log is known to be out of reach. */
  readonly isLogAway: () => boolean;
}

/** What a proxy needs so that it and others admit requests against the same credit (rule 7). */
export class CreditFleet {
  readonly leases: CreditLeases;
  readonly queue: LeaseQueue;
  readonly upkeep: LeaseUpkeep;
  readonly #clock: () => number;

  constructor(options: CreditFleetOptions) {
    const { accounts, holds, clock, logger } = options;
    this.#clock = clock;
    this.leases = new CreditLeases(options);
    this.queue = new LeaseQueue({ leases: this.leases, accounts, clock, logger, isLogAway: options.isLogAway });
    this.upkeep = new LeaseUpkeep({ leases: this.leases, queue: this.queue, accounts, holds, clock, logger });
  }

  /** Whether a request may be held under the lease now; what is nearly used up is refilled beside it. */
  takeRoom(accountId: AccountId, account: OpenAccount, scope: LeaseScope, need: MicroUsd): boolean {
    const room = this.leases.room(accountId, account, scope);
    if (need > room) return false;
    this.leases.used(accountId, scope);
    if (room - need < this.leases.share(account, scope.keyId) / 2n) this.queue.refill(accountId, scope);
    return true;
  }

  leasedToOthers(account: OpenAccount, keyId: KeyId): { readonly account: MicroUsd; readonly key: MicroUsd } {
    const scope = this.leases.scopeOf(account, keyId);
    return leasedToOthers(account, scope.keyId, this.leases.proxy, this.#clock());
  }
}
