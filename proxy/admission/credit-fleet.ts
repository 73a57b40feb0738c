import type { AccountId } from '../../contracts/ids.ts';
import { LIMITS } from '../../contracts/limits.ts';
import { type MicroUsd, microUsd } from '../../contracts/money.ts';
import type { OpenAccount } from '../../ledger/account/account-state.ts';
import {
  activeLeases,
  setAsideForKey,
  setAsideForMember,
  sumOfLeases,
  takenOfCredits,
} from '../../ledger/account/leases.ts';
import { memberLimitOf } from '../../ledger/account/spend-limits.ts';
import type { LogBreaker } from '../../ledger/log-breaker.ts';
import { TIMING } from '../../ledger/timing.ts';
import type { Holds } from '../holds.ts';
import { CreditLeases, type CreditLeasesOptions, type LeaseScope } from './credit-leases.ts';
import { LeaseQueue } from './lease-queue.ts';
import { LeaseUpkeep } from './lease-upkeep.ts';
import { type AlreadyTaken, type MoneyRequest, takenByHolds } from './money-gate.ts';

interface CreditFleetOptions extends Omit<CreditLeasesOptions, 'waitMs'> {
  readonly breaker: LogBreaker;
  /** How long requests wait for their leases: for what others give back, and in all. Default: LIMITS. */
  readonly reclaimMs?: number;
  readonly waitMs?: number;
}

/** What a proxy needs so that it and others admit requests against the same credit. */
export class CreditFleet {
  readonly leases: CreditLeases;
  readonly queue: LeaseQueue;
  readonly upkeep: LeaseUpkeep;
  readonly #holds: Holds;

  constructor(options: CreditFleetOptions) {
    const { accounts, holds, clock, logger, breaker } = options;
    const { reclaimMs = LIMITS.leaseReclaimMs, waitMs = LIMITS.leaseWaitMs, timing = TIMING } = options;
    this.#holds = holds;
    this.leases = new CreditLeases({ ...options, waitMs });
    const parts = { leases: this.leases, accounts, clock, logger, timing };
    this.queue = new LeaseQueue({ ...parts, breaker, reclaimMs, waitMs });
    this.upkeep = new LeaseUpkeep({ ...parts, queue: this.queue, holds });
  }

  /** How many proxies are known to serve an account: this one, and those that have leased some of its credit. */
  proxiesOf(account: OpenAccount): number {
    const proxies = new Set(this.leases.ofOthers(account).map(({ proxy }) => proxy));
    if (this.leases.proxy !== null) proxies.delete(this.leases.proxy);
    return 1 + proxies.size;
  }

  /** Whether a request may be held under the lease now; what is nearly used up is refilled beside it. */
  takeRoom(accountId: AccountId, account: OpenAccount, scope: LeaseScope, need: MicroUsd): boolean {
    const room = this.leases.room(accountId, account, scope);
    if (need > room) return false;
    this.leases.used(accountId, scope);
    // A share that no request fits in is not worth an event.
    const share = this.leases.share(account, scope);
    if (share >= need && room - need < share / 2n) this.queue.refill(accountId, scope);
    return true;
  }

  /** What other leases and the holds under this request's own take of what it needs, for the words of a refusal. */
  takenByLeases(request: MoneyRequest): AlreadyTaken {
    const { accountId, account, keyId, nowMs } = request;
    const scope = this.leases.scopeOf(account, keyId, nowMs);
    const others = activeLeases(account, nowMs).filter(({ leaseId }) => leaseId !== scope.leaseId);
    const underOwn = this.#holds.ofLease(accountId, scope.leaseId);
    const leased = sumOfLeases(others) + underOwn;
    const ofCredits = takenOfCredits(account, { leases: others }, nowMs) + underOwn;
    const holds = takenByHolds(request, this.#holds);
    const ofOthers = this.leases.ofOthers(account);
    const keyMonth = holds.keyMonth + setAsideForKey(account, keyId, ofOthers);
    const of = memberLimitOf(account, keyId);
    const memberMonth = holds.memberMonth + (of === null ? 0n : setAsideForMember(account, of.member, ofOthers));
    return {
      ...{ account: microUsd(ofCredits), accountMonth: microUsd(leased) },
      ...{ memberMonth: microUsd(memberMonth), keyMonth: microUsd(keyMonth) },
    };
  }
}
