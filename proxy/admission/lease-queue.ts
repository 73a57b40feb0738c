import type { Logger } from 'pino';
import { EventLogError, isLogAway } from '../../contracts/event-log.ts';
import type { AccountId, KeyId, LeaseId } from '../../contracts/ids.ts';
import { type MicroUsd, microUsd } from '../../contracts/money.ts';
import type { OpenAccount } from '../../ledger/account/account-state.ts';
import { ConflictsError } from '../../ledger/account/conflicts-error.ts';
import { activeLeases, sumOfLeases } from '../../ledger/account/leases.ts';
import type { LogBreaker } from '../../ledger/log-breaker.ts';
import type { Timing } from '../../ledger/timing.ts';
import { within } from '../../ledger/within.ts';
import type { AccountViews } from '../../projections/account-views.ts';
import type { CallingClient } from '../calling-client.ts';
import type { CreditLeases, LeaseScope } from './credit-leases.ts';

/**
 * Where little is free, a queue first takes what there is, though it is not enough: others see that nothing is free and
 * give back what they do not need. After this part of the time that a request waits for that, what is not enough for
 * anybody here goes back, so that of several queues that wait for one another one finds enough.
 */
const TAKING_PART = 4;
/**
 * Where that was in vain it is not done again for so many times as a request waits: others have seen it. Each time is two
 * events, and who is refused may ask again at once. What is enough is taken whenever it is there.
 */
const IN_VAIN_WAITS = 10;
/** How often in that time it is looked for what has come back, where no event tells of it. */
const LOOKS = 5;
/** Requests that wait for leases in one proxy. */
const WAITING_MAX = 10_000;

/** Why a request that needs a lease did not get it. */
export type NoLease = 'none_free' | 'log_away' | 'too_many_waiting' | 'client_left';

export interface LeaseWait {
  /** Which lease it comes under is asked anew each time: a limit that is set meanwhile changes it. */
  readonly keyId: KeyId;
  readonly need: MicroUsd;
  /** Whoever has left waits no longer, and nothing is leased for it. */
  readonly client: Pick<CallingClient, 'hasLeft' | 'onceLeft'>;
  /** Holds the request under the lease where there is room; false where there is not. Called in one turn with the look. */
  readonly tryHold: () => boolean;
}

interface Waiting extends LeaseWait {
  /** Until when it waits for what others give back. */
  readonly reclaimUntilMs: number;
  /** Until when it waits in all. */
  readonly untilMs: number;
  readonly resolve: (outcome: 'held' | NoLease) => void;
}

interface LeaseQueueOptions {
  readonly leases: CreditLeases;
  readonly accounts: AccountViews;
  readonly clock: () => number;
  /** Waits are measured on its clock, that nobody sets; what is free goes by the gateway's. */
  readonly timing: Timing;
  readonly logger: Logger;
  /** Where the event log is known to be out of reach nobody waits long to learn it, but for whoever tries whether it is back. */
  readonly breaker: Pick<LogBreaker, 'isAway' | 'isOpen' | 'mayAppend' | 'taken' | 'failed'>;
  /** How long a request waits for what others give back. */
  readonly reclaimMs: number;
  /** How long it waits in all, before it is refused because the log is slow. */
  readonly waitMs: number;
}

/**
 * Requests that wait for credit to be leased. Those of one account wait together: one event leases for all of them,
 * and they are held in the order in which they came; one that does not fit does not stand in the way of a smaller one.
 */
export class LeaseQueue {
  readonly #options: LeaseQueueOptions;
  readonly #waiting = new Map<AccountId, Waiting[]>();
  readonly #running = new Set<AccountId>();
  readonly #foldWaiters = new Map<AccountId, AbortController>();
  /** Accounts for which a part was taken in vain, and until when none is taken again. */
  readonly #inVain = new Map<AccountId, number>();
  #count = 0;

  constructor(options: LeaseQueueOptions) {
    this.#options = options;
    options.accounts.onFolded((accountId, event) => {
      // Who has settled may have something to give back.
      if (event.type === 'UsageRecorded') this.#inVain.delete(accountId);
      this.#foldWaiters.get(accountId)?.abort();
    });
  }

  get waiting(): number {
    return this.#count;
  }

  /** Resolves `held` once `tryHold` has said true; otherwise why not. */
  async whenHeld(accountId: AccountId, wait: LeaseWait): Promise<'held' | NoLease> {
    if (this.#count >= WAITING_MAX) return 'too_many_waiting';
    this.#count++;
    const mayAppend = !this.#options.breaker.isOpen || (await this.#options.breaker.mayAppend(accountId));
    this.#count--;
    if (wait.client.hasLeft) return 'client_left';
    return mayAppend ? this.#whenLeased(accountId, wait) : 'log_away';
  }

  #whenLeased(accountId: AccountId, wait: LeaseWait): Promise<'held' | NoLease> {
    this.#count++;
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(accountId) ?? [];
      const { reclaimMs, waitMs, timing } = this.#options;
      const nowMs = timing.passedMs();
      const entry: Waiting = {
        ...wait,
        reclaimUntilMs: nowMs + reclaimMs,
        untilMs: nowMs + waitMs,
        resolve: (outcome) => {
          forget();
          resolve(outcome);
        },
      };
      const forget = wait.client.onceLeft(() =>
        this.#resolveAll(accountId, (one) => (one === entry ? 'client_left' : null)),
      );
      waiting.push(entry);
      this.#waiting.set(accountId, waiting);
      if (!this.#running.has(accountId)) void this.#run(accountId);
    });
  }

  /** Leases a fresh share before the last is used up, so that requests need not wait. Failures cost only the wait. */
  refill(accountId: AccountId, scope: LeaseScope): void {
    if (this.#running.has(accountId) || this.#options.breaker.isAway) return;
    this.#running.add(accountId);
    const { taken } = this.#options.breaker;
    this.#extend(accountId, scope, 0n)
      .catch((error: unknown) => this.#failed(error, taken, 'a lease was not refilled'))
      .finally(() => {
        this.#running.delete(accountId);
        if (this.#waiting.has(accountId)) void this.#run(accountId);
      });
  }

  /** Whether requests wait for a lease: then nothing of it is given back. */
  isWaiting(accountId: AccountId, leaseId: LeaseId): boolean {
    return (
      this.#waiting.get(accountId)?.some((waiting) => this.#scopeOf(accountId, waiting).leaseId === leaseId) === true
    );
  }

  async #run(accountId: AccountId): Promise<void> {
    this.#running.add(accountId);
    const { taken } = this.#options.breaker;
    const takesUntilMs = this.#options.timing.passedMs() + this.#options.reclaimMs / TAKING_PART;
    try {
      for (;;) {
        this.#holdWhatFits(accountId);
        const [first] = this.#waiting.get(accountId) ?? [];
        if (first === undefined) return;
        const scope = this.#scopeOf(accountId, first);
        const asking = this.#waitingFor(accountId, scope);
        const { mine } = this.#roomFor(accountId, scope);
        const isEnough = asking.some(({ need }) => mine >= need);
        const mayTakePart = this.#options.timing.passedMs() < takesUntilMs && !this.#wasInVain(accountId);
        if (isEnough || mayTakePart) await this.#extend(accountId, scope, sumOf(asking));
        else await this.#withinWait(this.#giveBack(accountId, scope));
        this.#holdWhatFits(accountId);
        await this.#refuseOrWait(accountId, asking);
      }
    } catch (error) {
      this.#failed(error, taken, 'no credit could be leased');
      this.#resolveAll(accountId, () => 'log_away');
    } finally {
      this.#running.delete(accountId);
      this.#waiting.delete(accountId);
    }
  }

  /** That the log is away is told by whoever follows its breaker, once. */
  #failed(error: unknown, taken: number, what: string): void {
    const isAway = isLogAway(error) && this.#options.breaker.failed(error, taken);
    this.#options.logger[isAway ? 'debug' : 'warn']({ err: error }, what);
  }

  /**
   * For all of these together was leased what was free. Where more is free by now it is asked for again; where others
   * have some to give back they are waited for, a little; else there is none. Who has come since is asked for next.
   */
  async #refuseOrWait(accountId: AccountId, asked: readonly Waiting[]): Promise<void> {
    const isAsked = new Set(asked);
    const nowMs = this.#options.timing.passedMs();
    let onlyOthersHave = true;
    this.#resolveAll(accountId, (waiting) => {
      if (!isAsked.has(waiting)) return null;
      const { mine, all } = this.#roomFor(accountId, this.#scopeOf(accountId, waiting));
      if (mine >= waiting.need && nowMs < waiting.untilMs) {
        onlyOthersHave = false;
        return null;
      }
      if (all >= waiting.need && nowMs < waiting.reclaimUntilMs) return null;
      this.#tookInVain(accountId);
      return 'none_free';
    });
    const waits = onlyOthersHave && this.#waiting.get(accountId)?.some((waiting) => isAsked.has(waiting)) === true;
    if (waits) await this.#nextFold(accountId);
  }

  #wasInVain(accountId: AccountId): boolean {
    return this.#options.timing.passedMs() < (this.#inVain.get(accountId) ?? 0);
  }

  #tookInVain(accountId: AccountId): void {
    if (this.#wasInVain(accountId)) return;
    if (this.#inVain.size >= WAITING_MAX) this.#inVain.clear();
    this.#inVain.set(accountId, this.#options.timing.passedMs() + IN_VAIN_WAITS * this.#options.reclaimMs);
  }

  /** What the lease and what is free could hold together, and what it would be with all that may still come back. */
  #roomFor(accountId: AccountId, scope: LeaseScope): { readonly mine: bigint; readonly all: bigint } {
    const { leases, accounts, clock } = this.#options;
    const account = openAccount(accounts, accountId);
    const nowMs = clock();
    const mine = leases.room(accountId, account, scope) + leases.free(account, scope);
    const others = activeLeases(account, nowMs).filter(({ leaseId }) => leaseId !== scope.leaseId);
    return { mine, all: mine + sumOfLeases(others) + leases.givingBack(accountId, scope.leaseId) };
  }

  #extend(accountId: AccountId, scope: LeaseScope, need: bigint): Promise<void> {
    return this.#withinWait(this.#extendDespiteOthers(accountId, scope, need));
  }

  /** The account's other writers may come between again and again: that is no log that is away. */
  async #extendDespiteOthers(accountId: AccountId, scope: LeaseScope, need: bigint): Promise<void> {
    const { leases, accounts, waitMs, timing } = this.#options;
    const untilMs = timing.passedMs() + waitMs;
    for (;;) {
      try {
        await leases.extend(accountId, openAccount(accounts, accountId), scope, microUsd(need));
        return;
      } catch (error) {
        if (!(error instanceof ConflictsError) || timing.passedMs() >= untilMs) throw error;
      }
    }
  }

  async #giveBack(accountId: AccountId, scope: LeaseScope): Promise<void> {
    const { leases, accounts } = this.#options;
    const room = leases.room(accountId, openAccount(accounts, accountId), scope);
    if (room > 0n) await leases.release(accountId, scope.leaseId, room);
  }

  #waitingFor(accountId: AccountId, { leaseId }: LeaseScope): Waiting[] {
    return (this.#waiting.get(accountId) ?? []).filter(
      (waiting) => this.#scopeOf(accountId, waiting).leaseId === leaseId,
    );
  }

  #scopeOf(accountId: AccountId, { keyId }: LeaseWait): LeaseScope {
    const { leases, accounts, clock } = this.#options;
    return leases.scopeOf(openAccount(accounts, accountId), keyId, clock());
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

  async #nextFold(accountId: AccountId): Promise<void> {
    const { timing, reclaimMs } = this.#options;
    const folded = new AbortController();
    this.#foldWaiters.set(accountId, folded);
    await timing.pause(reclaimMs / LOOKS, folded.signal);
    this.#foldWaiters.delete(accountId);
  }

  /** The log may still do it later; who waits is told. @throws Error after the time that a request waits in all */
  async #withinWait(done: Promise<void>): Promise<void> {
    const { waitMs, timing } = this.#options;
    if ((await within(waitMs, done, timing)) === null)
      throw new EventLogError('unavailable', `the event log did not answer for ${waitMs} ms`);
  }
}

const sumOf = (waiting: readonly Waiting[]): bigint => waiting.reduce((sum, { need }) => sum + need, 0n);

function openAccount(accounts: AccountViews, accountId: AccountId): OpenAccount {
  const { state } = accounts.read(accountId);
  if (state.type === 'unopened') throw new Error(`${accountId} was authenticated and is not open`);
  return state;
}
