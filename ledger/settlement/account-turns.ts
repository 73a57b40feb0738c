import { isLogAway } from '../../contracts/event-log.ts';
import type { AccountId } from '../../contracts/ids.ts';
import { LIMITS } from '../../contracts/limits.ts';
import { type AccountRepository, isAsideReason } from '../account/account-repository.ts';
import { backOffMs } from '../back-off.ts';
import type { LogBreaker } from '../log-breaker.ts';
import type { Timing } from '../timing.ts';
import { ContentionError } from './append-group.ts';
import type { PendingRequest } from './pending-request.ts';
import type { PendingRequests } from './pending-requests.ts';

export interface AccountTurnsOptions {
  readonly repository: Pick<AccountRepository, 'whyAside' | 'putAside'>;
  readonly clock: () => number;
  readonly timing: Timing;
  readonly breaker: LogBreaker;
  readonly pending: PendingRequests;
  /** Brings a group into the ledger. @throws what keeps it from that for now */
  readonly append: (accountId: AccountId, group: readonly PendingRequest[]) => Promise<void>;
  /** Requests wait until their account is not set aside any more. */
  readonly onAside: (requests: readonly PendingRequest[]) => void;
  /** The log takes what others append, and not what this account needs: told once, until it does. */
  readonly onOwnTrouble: (accountId: AccountId, error: unknown) => void;
  /** Nothing is appended before `start`. */
  readonly waitsForStart: boolean;
}

const BACK_OFF = { firstMs: LIMITS.settlementBackoffMs, maxMs: LIMITS.settlementBackoffMaxMs };

interface AccountQueue {
  readonly waiting: PendingRequest[];
  /** Idle, gathering, waiting for a place, appending, waiting after a failure, or until it is not set aside. */
  phase: 'idle' | 'lingering' | 'ready' | 'running' | 'backing-off' | 'aside';
  /** Appends in a row that failed. */
  failures: number;
  /** When the first of them began, and how many appends the log had taken by then. */
  round: { readonly beganMs: number; readonly taken: number } | null;
  hasOwnTrouble: boolean;
}

/**
 * Whose turn it is: one queue an account, so that its groups go one after another, and so many appends at once.
 *
 *   idle ─▶ lingering ─▶ ready ─▶ running ─▶ idle        only `running` holds a place among the appends, so that failing
 *                          ▲         └──▶ backing-off ─┐  accounts hold up no others
 *                          └───────────────────────────┘
 *
 * The queue of an account that is set aside is `aside`, from whatever it was before it next appends, until the account is
 * not: nothing is decided on what is not known.
 */
export class AccountTurns {
  readonly #options: AccountTurnsOptions;
  readonly #queues = new Map<AccountId, AccountQueue>();
  readonly #aside = new Set<AccountQueue>();
  /** Queues whose groups may still grow. */
  readonly #lingering: [AccountId, AccountQueue][] = [];
  /** Accounts with work that wait for one of the appends under way to end. */
  readonly #ready: AccountId[] = [];
  #backOffs = new AbortController();
  #hasStarted: boolean;
  #isClosed = false;
  #appendsUnderWay = 0;

  constructor(options: AccountTurnsOptions) {
    this.#options = options;
    this.#hasStarted = !options.waitsForStart;
    options.breaker.onSignOfLife((isClosed) => {
      if (isClosed) for (const queue of this.#queues.values()) forgetFailures(queue);
      this.#endBackOffs();
    });
  }

  get hasStarted(): boolean {
    return this.#hasStarted;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** How many requests wait for accounts that are set aside. */
  get aside(): number {
    const { pending } = this.#options;
    let count = 0;
    for (const { waiting } of this.#aside) count += waiting.filter((request) => pending.has(request)).length;
    return count;
  }

  join(request: PendingRequest): void {
    const { accountId } = request;
    const queue = this.#queueOf(accountId);
    queue.waiting.push(request);
    if (queue.phase === 'aside') this.#options.onAside([request]);
    else this.#wake(accountId, queue);
  }

  /** Appends begin; what joins while `before` runs goes before what had joined. */
  start(before: () => void): void {
    const joined = [...this.#queues.values()].map((queue) => [queue, queue.waiting.splice(0)] as const);
    before();
    for (const [queue, waiting] of joined) queue.waiting.push(...waiting);
    this.#hasStarted = true;
    for (const [accountId, queue] of this.#queues) this.#wake(accountId, queue);
  }

  /** The account is not set aside any more. */
  return(accountId: AccountId): void {
    const queue = this.#queues.get(accountId);
    if (queue === undefined || !this.#aside.delete(queue)) return;
    queue.phase = 'idle';
    this.#wake(accountId, queue);
  }

  /** Starts no further append. */
  close(): void {
    this.#isClosed = true;
    this.#endBackOffs();
  }

  #endBackOffs(): void {
    const backOffs = this.#backOffs;
    this.#backOffs = new AbortController();
    backOffs.abort();
  }

  #queueOf(accountId: AccountId): AccountQueue {
    let queue = this.#queues.get(accountId);
    if (queue === undefined) {
      queue = { waiting: [], phase: 'idle', failures: 0, round: null, hasOwnTrouble: false };
      this.#queues.set(accountId, queue);
    }
    return queue;
  }

  /** A full group goes at once; others wait for one instant, so that more join and appends share a commit. */
  #wake(accountId: AccountId, queue: AccountQueue): void {
    if (this.#isClosed || !this.#hasStarted || (queue.phase !== 'idle' && queue.phase !== 'lingering')) return;
    if (this.#options.repository.whyAside(accountId) !== null) this.#putAside(queue);
    else if (queue.waiting.length >= LIMITS.settlementGroupMax) {
      this.#makeReady(accountId, queue);
      this.#startReady();
    } else if (queue.phase === 'idle') {
      queue.phase = 'lingering';
      this.#lingering.push([accountId, queue]);
      if (this.#lingering.length === 1) this.#options.timing.later(LIMITS.settlementLingerMs, () => this.#endLinger());
    }
  }

  #endLinger(): void {
    for (const [accountId, queue] of this.#lingering.splice(0))
      if (queue.phase === 'lingering') this.#makeReady(accountId, queue);
    this.#startReady();
  }

  #makeReady(accountId: AccountId, queue: AccountQueue): void {
    queue.phase = 'ready';
    this.#ready.push(accountId);
  }

  #startReady(): void {
    while (!this.#isClosed && this.#ready.length > 0 && this.#appendsUnderWay < LIMITS.settlementAppendsMax) {
      const accountId = this.#ready.shift();
      if (accountId === undefined) return;
      this.#appendsUnderWay++;
      void this.#settleGroup(accountId).finally(() => {
        this.#appendsUnderWay--;
        this.#startReady();
      });
    }
  }

  /** Settles one group, then gives the place to the next account in the queue. */
  async #settleGroup(accountId: AccountId): Promise<void> {
    const { repository, append, pending, breaker, clock } = this.#options;
    const queue = this.#queueOf(accountId);
    if (repository.whyAside(accountId) !== null) return this.#putAside(queue);
    queue.phase = 'running';
    queue.round ??= { beganMs: clock(), taken: breaker.taken };
    const group = queue.waiting.splice(0, LIMITS.settlementGroupMax);
    try {
      await append(accountId, group);
    } catch (error) {
      // Put back in order.
      queue.waiting.unshift(...group.filter((request) => pending.has(request)));
      if (isAsideReason(error)) {
        repository.putAside(accountId, error);
        this.#putAside(queue);
      } else if (!this.#isClosed) void this.#backOff(accountId, queue, error);
      return;
    }
    queue.phase = 'idle';
    queue.hasOwnTrouble = false;
    forgetFailures(queue);
    breaker.waitsNoMore(queue);
    if (queue.waiting.length > 0) this.#wake(accountId, queue);
    else this.#queues.delete(accountId);
  }

  #putAside(queue: AccountQueue): void {
    queue.phase = 'aside';
    forgetFailures(queue);
    this.#options.breaker.waitsNoMore(queue);
    this.#aside.add(queue);
    this.#options.onAside(queue.waiting);
  }

  /** Waits without a place among the appends: longer after each failure, and after a whole round of them longest. */
  async #backOff(accountId: AccountId, queue: AccountQueue, error: unknown): Promise<void> {
    const { timing } = this.#options;
    queue.phase = 'backing-off';
    if (error instanceof ContentionError) {
      // Others make progress, so the log is there.
      await this.#backOffFor(accountId, queue, backOffMs(BACK_OFF, 1, timing.random()));
      return;
    }
    queue.failures++;
    const isRoundOver = this.#isRoundOver(queue, error);
    const longestMs = isRoundOver
      ? LIMITS.settlementBackoffMaxMs
      : backOffMs(BACK_OFF, queue.failures, timing.random());
    if (isRoundOver) this.#endRound(accountId, queue, error);
    const isProbe = !queue.hasOwnTrouble && this.#options.breaker.waits(queue);
    await this.#backOffFor(accountId, queue, isProbe ? Math.min(longestMs, LIMITS.settlementProbeMs) : longestMs);
  }

  #isRoundOver({ failures, round }: AccountQueue, error: unknown): boolean {
    if (!isLogAway(error) || failures >= LIMITS.settlementAttemptsMax) return true;
    return round !== null && this.#options.clock() - round.beganMs >= LIMITS.settlementRoundMs;
  }

  /** The next one begins where this one has ended. */
  #endRound(accountId: AccountId, queue: AccountQueue, error: unknown): void {
    const { breaker, clock, onOwnTrouble } = this.#options;
    const isOwn = !breaker.failed(error, queue.round?.taken);
    if (isOwn && !queue.hasOwnTrouble) onOwnTrouble(accountId, error);
    queue.hasOwnTrouble ||= isOwn;
    queue.failures = 0;
    queue.round = { beganMs: clock(), taken: breaker.taken };
  }

  async #backOffFor(accountId: AccountId, queue: AccountQueue, waitMs: number): Promise<void> {
    const { breaker, timing } = this.#options;
    // Ended early by a sign of life, or by the close.
    await timing.pause(waitMs, this.#backOffs.signal);
    breaker.tries(queue);
    if (this.#isClosed) return;
    this.#makeReady(accountId, queue);
    this.#startReady();
  }
}

function forgetFailures(queue: AccountQueue): void {
  queue.failures = 0;
  queue.round = null;
}
