import { isLogAway } from '../../contracts/event-log.ts';
import type { AccountId } from '../../contracts/ids.ts';
import { LIMITS } from '../../contracts/limits.ts';
import { type AccountBook, isAsideReason } from '../account/account-book.ts';
import type { LogBreaker } from '../log-breaker.ts';
import type { Timing } from '../timing.ts';
import { backOffMs, ContentionError } from './lane-rest.ts';
import type { PendingRequest } from './pending-request.ts';
import type { PendingRequests } from './pending-requests.ts';

export interface AccountTurnsOptions {
  readonly book: Pick<AccountBook, 'whyAside' | 'putAside'>;
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

interface AccountLane {
  readonly waiting: PendingRequest[];
  /**
   * Idle, waiting for more to join, for a place among the appends, appending, waiting after a failure, or until the account
   * is not set aside any more.
   */
  phase: 'idle' | 'lingering' | 'ready' | 'running' | 'resting' | 'aside';
  /** Appends in a row that failed. */
  failures: number;
  /** When the first of them began, and how many appends the log had taken by then. */
  round: { readonly beganMs: number; readonly taken: number } | null;
  hasOwnTrouble: boolean;
}

/**
 * Whose turn it is: one lane an account, so that its groups go one after another, and so many appends at once.
 *
 *   idle ─▶ lingering ─▶ ready ─▶ running ─▶ idle        only `running` holds a place among the appends, so that failing
 *                          ▲         └──▶ resting ─┐      accounts hold up no others
 *                          └───────────────────────┘
 *
 * The lane of an account that is set aside is `aside`, from whatever it was before it next appends, until the account is
 * not: nothing is decided on what is not known.
 */
export class AccountTurns {
  readonly #options: AccountTurnsOptions;
  readonly #lanes = new Map<AccountId, AccountLane>();
  readonly #aside = new Set<AccountLane>();
  /** Lanes whose groups may still grow. */
  readonly #lingering: [AccountId, AccountLane][] = [];
  /** Accounts with work that wait for one of the appends under way to end. */
  readonly #ready: AccountId[] = [];
  #rests = new AbortController();
  #hasStarted: boolean;
  #isClosed = false;
  #appendsUnderWay = 0;

  constructor(options: AccountTurnsOptions) {
    this.#options = options;
    this.#hasStarted = !options.waitsForStart;
    options.breaker.onSignOfLife((isClosed) => {
      if (isClosed) for (const lane of this.#lanes.values()) forgetFailures(lane);
      this.#endRests();
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
    const lane = this.#laneOf(accountId);
    lane.waiting.push(request);
    if (lane.phase === 'aside') this.#options.onAside([request]);
    else this.#wake(accountId, lane);
  }

  /** Appends begin; what joins while `before` runs goes before what had joined. */
  start(before: () => void): void {
    const joined = [...this.#lanes.values()].map((lane) => [lane, lane.waiting.splice(0)] as const);
    before();
    for (const [lane, waiting] of joined) lane.waiting.push(...waiting);
    this.#hasStarted = true;
    for (const [accountId, lane] of this.#lanes) this.#wake(accountId, lane);
  }

  /** The account is not set aside any more. */
  return(accountId: AccountId): void {
    const lane = this.#lanes.get(accountId);
    if (lane === undefined || !this.#aside.delete(lane)) return;
    lane.phase = 'idle';
    this.#wake(accountId, lane);
  }

  /** Starts no further append. */
  close(): void {
    this.#isClosed = true;
    this.#endRests();
  }

  #endRests(): void {
    const rests = this.#rests;
    this.#rests = new AbortController();
    rests.abort();
  }

  #laneOf(accountId: AccountId): AccountLane {
    let lane = this.#lanes.get(accountId);
    if (lane === undefined) {
      lane = { waiting: [], phase: 'idle', failures: 0, round: null, hasOwnTrouble: false };
      this.#lanes.set(accountId, lane);
    }
    return lane;
  }

  /**
   * A group that is full goes at once; any other waits a little, so that what finishes next shares its append. All
   * accounts wait for the same instant, so that their appends share a commit of the log.
   */
  #wake(accountId: AccountId, lane: AccountLane): void {
    if (this.#isClosed || !this.#hasStarted || (lane.phase !== 'idle' && lane.phase !== 'lingering')) return;
    if (this.#options.book.whyAside(accountId) !== null) this.#putAside(lane);
    else if (lane.waiting.length >= LIMITS.settlementGroupMax) {
      this.#makeReady(accountId, lane);
      this.#startReady();
    } else if (lane.phase === 'idle') {
      lane.phase = 'lingering';
      this.#lingering.push([accountId, lane]);
      if (this.#lingering.length === 1) this.#options.timing.later(LIMITS.settlementLingerMs, () => this.#endLinger());
    }
  }

  #endLinger(): void {
    for (const [accountId, lane] of this.#lingering.splice(0))
      if (lane.phase === 'lingering') this.#makeReady(accountId, lane);
    this.#startReady();
  }

  #makeReady(accountId: AccountId, lane: AccountLane): void {
    lane.phase = 'ready';
    this.#ready.push(accountId);
  }

  #startReady(): void {
    while (!this.#isClosed && this.#ready.length > 0 && this.#appendsUnderWay < LIMITS.settlementAppendsMax) {
      const accountId = this.#ready.shift();
      if (accountId === undefined) return;
      this.#appendsUnderWay++;
      void this.#runLane(accountId).finally(() => {
        this.#appendsUnderWay--;
        this.#startReady();
      });
    }
  }

  /** Settles one group, then gives the place to the next account in the queue. */
  async #runLane(accountId: AccountId): Promise<void> {
    const { book, append, pending, breaker, clock } = this.#options;
    const lane = this.#laneOf(accountId);
    if (book.whyAside(accountId) !== null) return this.#putAside(lane);
    lane.phase = 'running';
    lane.round ??= { beganMs: clock(), taken: breaker.taken };
    const group = lane.waiting.splice(0, LIMITS.settlementGroupMax);
    try {
      await append(accountId, group);
    } catch (error) {
      // Put back in order.
      lane.waiting.unshift(...group.filter((request) => pending.has(request)));
      if (isAsideReason(error)) {
        book.putAside(accountId, error);
        this.#putAside(lane);
      } else if (!this.#isClosed) void this.#rest(accountId, lane, error);
      return;
    }
    lane.phase = 'idle';
    lane.hasOwnTrouble = false;
    forgetFailures(lane);
    breaker.waitsNoMore(lane);
    if (lane.waiting.length > 0) this.#wake(accountId, lane);
    else this.#lanes.delete(accountId);
  }

  #putAside(lane: AccountLane): void {
    lane.phase = 'aside';
    forgetFailures(lane);
    this.#options.breaker.waitsNoMore(lane);
    this.#aside.add(lane);
    this.#options.onAside(lane.waiting);
  }

  /** Waits without a place among the appends: longer after each failure, and after a whole round of them longest. */
  async #rest(accountId: AccountId, lane: AccountLane, error: unknown): Promise<void> {
    const { timing } = this.#options;
    lane.phase = 'resting';
    if (error instanceof ContentionError) {
      // Others make progress, so the log is there.
      await this.#restFor(accountId, lane, backOffMs(1, timing.random()));
      return;
    }
    lane.failures++;
    const isRoundOver = this.#isRoundOver(lane, error);
    const longestMs = isRoundOver ? LIMITS.settlementBackoffMaxMs : backOffMs(lane.failures, timing.random());
    if (isRoundOver) this.#endRound(accountId, lane, error);
    const isProbe = !lane.hasOwnTrouble && this.#options.breaker.waits(lane);
    await this.#restFor(accountId, lane, isProbe ? Math.min(longestMs, LIMITS.settlementProbeMs) : longestMs);
  }

  #isRoundOver({ failures, round }: AccountLane, error: unknown): boolean {
    if (!isLogAway(error) || failures >= LIMITS.settlementAttemptsMax) return true;
    return round !== null && this.#options.clock() - round.beganMs >= LIMITS.settlementRoundMs;
  }

  /** The next one begins where this one has ended. */
  #endRound(accountId: AccountId, lane: AccountLane, error: unknown): void {
    const { breaker, clock, onOwnTrouble } = this.#options;
    const isOwn = !breaker.failed(error, lane.round?.taken);
    if (isOwn && !lane.hasOwnTrouble) onOwnTrouble(accountId, error);
    lane.hasOwnTrouble ||= isOwn;
    lane.failures = 0;
    lane.round = { beganMs: clock(), taken: breaker.taken };
  }

  async #restFor(accountId: AccountId, lane: AccountLane, waitMs: number): Promise<void> {
    const { breaker, timing } = this.#options;
    // Ended early by a sign of life, or by the close.
    await timing.pause(waitMs, this.#rests.signal);
    breaker.tries(lane);
    if (this.#isClosed) return;
    this.#makeReady(accountId, lane);
    this.#startReady();
  }
}

function forgetFailures(lane: AccountLane): void {
  lane.failures = 0;
  lane.round = null;
}
