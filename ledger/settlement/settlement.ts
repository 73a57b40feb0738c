import { setTimeout as delay } from 'node:timers/promises';
import { encodeEvents } from '../../contracts/event-codec.ts';
import { type EventLog, EventLogError, isLogAway, type ProposedEvent } from '../../contracts/event-log.ts';
import type { AccountEvent, UsageRecorded } from '../../contracts/events.ts';
import {
  type AccountId,
  accountStream,
  commandOfLateUsage,
  commandOfRequest,
  type LeaseId,
  type RequestId,
} from '../../contracts/ids.ts';
import { LIMITS } from '../../contracts/limits.ts';
import type { RateCard } from '../../contracts/rate-card.ts';
import { type AccountBook, catchUpBook, foldAppended, isAsideReason } from '../account/account-book.ts';
import { reportLateUsage } from '../account/decide-exceptions.ts';
import { evolve } from '../account/evolve.ts';
import { recordUsage } from '../account/record-usage.ts';
import { backOffMs, ContentionError } from './lane-rest.ts';
import { type AccountLane, type EarlierRequest, hasDebit, type PendingRequest } from './pending-request.ts';

export interface SettlementOptions {
  readonly log: EventLog;
  readonly book: AccountBook;
  readonly clock: () => number;
  /** Told once for each request, when its usage and debit are in the ledger and folded into the book. */
  readonly onSettled: (accountId: AccountId, usage: UsageRecorded) => void;
  /** A request that cannot be settled by this program (a bug): it stays in the journal for the next start. */
  readonly onStuck: (requestId: RequestId, error: unknown) => void;
  /**
   * Requests wait until their account is not set aside any more, however long: told of each, once. They are settled then,
   * by themselves.
   */
  readonly onAside?: (requestIds: readonly RequestId[]) => void;
  /** The log has been away for a whole round of attempts; told again each round. */
  readonly onLogAway: (error: unknown) => void;
  /** The log answers again after `onLogAway`. */
  readonly onLogBack?: () => void;
  /** Whether a request is under way here and has not ended: somebody else may record it all the same. */
  readonly isUnderWay?: (requestId: RequestId) => boolean;
  /** Nothing is appended before `startAfter`: requests of an earlier run come first. */
  readonly waitsForEarlier?: boolean;
}

/**
 * Brings finished requests into the ledger, each exactly once.
 *
 * The requests of one account go one group after another, each group as one append at the revision that the book
 * knows. What makes it exactly once: a request is settled when its `UsageRecorded` is *folded into the book*, no matter
 * from where (own append, a read after a conflict, the subscription). The book at revision r has folded everything up
 * to r, so a request still pending is not in the ledger up to r; and the append succeeds at r only. An append whose
 * answer was lost is therefore found by the conflict that the next one meets, or by the log's own idempotency.
 *
 *   idle ─▶ lingering ─▶ ready ─▶ running ─▶ idle        one lane an account; only `running` holds a place among
 *                          ▲         └──▶ resting ─┐      the appends, so that failing accounts hold up no others
 *                          └───────────────────────┘
 *
 * The lane of an account that is set aside is `aside`, from whatever it was before it next appends, until the account is
 * not: nothing is decided on what is not known.
 */
export class Settlement {
  readonly #options: SettlementOptions;
  readonly #lanes = new Map<AccountId, AccountLane>();
  readonly #aside = new Set<AccountLane>();
  readonly #pending = new Map<RequestId, PendingRequest>();
  /** Lanes whose groups may still grow. */
  readonly #lingering: [AccountId, AccountLane][] = [];
  /** Accounts with work that wait for one of the appends under way to end. */
  readonly #ready: AccountId[] = [];
  /** Requests under way here that somebody else has recorded as `recovered`. */
  readonly #recoveredElsewhere = new Set<RequestId>();
  readonly #idleWaiters: (() => void)[] = [];
  #rests = new AbortController();
  #isWaiting: boolean;
  #isClosed = false;
  /** A whole round of some account's appends has failed, and none has been answered since. */
  #isLogAway = false;
  /** While the log is away one lane tries often, so that its first answer ends the waiting of all. */
  #scout: AccountLane | null = null;
  #appendsUnderWay = 0;

  constructor(options: SettlementOptions) {
    this.#options = options;
    this.#isWaiting = options.waitsForEarlier === true;
    options.book.onFolded((_accountId, event) => this.#observe(event));
    options.book.onReturned((accountId) => this.#return(accountId));
  }

  /** Requests submitted and not settled. */
  get pending(): number {
    return this.#pending.size;
  }

  /** Those of them that wait for accounts that are set aside. */
  get aside(): number {
    let count = 0;
    for (const { waiting } of this.#aside) count += waiting.filter((request) => this.#isPending(request)).length;
    return count;
  }

  /** Takes over a finished request, which the journal already holds. A second submission of one is ignored. */
  submit(
    accountId: AccountId,
    usage: UsageRecorded,
    card: RateCard,
    leaseId: LeaseId | null = null,
    isLate = this.#recoveredElsewhere.delete(usage.requestId),
  ): void {
    if (this.#pending.has(usage.requestId)) return;
    const request: PendingRequest = { accountId, usage, card, leaseId, isLate, recorded: false, hasDebit: null };
    this.#pending.set(usage.requestId, request);
    const lane = this.#laneOf(accountId);
    lane.waiting.push(request);
    if (lane.phase === 'aside') this.#options.onAside?.([usage.requestId]);
    else this.#wake(accountId, lane);
  }

  /** Ends the waiting for requests of an earlier run: they go before what was submitted meanwhile, in their order. */
  startAfter(earlier: readonly EarlierRequest[]): void {
    if (!this.#isWaiting) throw new Error('settlement has started');
    const meanwhile = [...this.#lanes.values()].map((lane) => [lane, lane.waiting.splice(0)] as const);
    for (const { accountId, usage, card, leaseId, isLate } of earlier)
      this.submit(accountId, usage, card, leaseId, isLate);
    for (const [lane, waiting] of meanwhile) lane.waiting.push(...waiting);
    this.#isWaiting = false;
    for (const [accountId, lane] of this.#lanes) this.#wake(accountId, lane);
  }

  /** Resolves when nothing is pending but what waits for accounts that are set aside. */
  idle(): Promise<void> {
    if (this.#pending.size === this.aside) return Promise.resolve();
    return new Promise((resolve) => this.#idleWaiters.push(resolve));
  }

  /** A sign of life from the log: whoever waits after a failure tries again at once. */
  logIsBack(): void {
    const wasAway = this.#isLogAway;
    this.#isLogAway = false;
    this.#scout = null;
    for (const lane of this.#lanes.values()) lane.failures = 0;
    this.#endRests();
    if (wasAway) this.#options.onLogBack?.();
  }

  /** Starts no further append. What is pending stays in the journal. */
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
      lane = { waiting: [], phase: 'idle', failures: 0 };
      this.#lanes.set(accountId, lane);
    }
    return lane;
  }

  /**
   * A group that is full goes at once; any other waits a little, so that what finishes next shares its append. All
   * accounts wait for the same instant, so that their appends share a commit of the log.
   */
  #wake(accountId: AccountId, lane: AccountLane): void {
    if (this.#isClosed || this.#isWaiting || (lane.phase !== 'idle' && lane.phase !== 'lingering')) return;
    if (this.#options.book.whyAside(accountId) !== null) this.#putAside(lane);
    else if (lane.waiting.length >= LIMITS.settlementGroupMax) {
      this.#makeReady(accountId, lane);
      this.#startReady();
    } else if (lane.phase === 'idle') {
      lane.phase = 'lingering';
      this.#lingering.push([accountId, lane]);
      if (this.#lingering.length === 1) setTimeout(() => this.#endLinger(), LIMITS.settlementLingerMs);
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
    const lane = this.#laneOf(accountId);
    if (this.#options.book.whyAside(accountId) !== null) return this.#putAside(lane);
    lane.phase = 'running';
    const group = lane.waiting.splice(0, LIMITS.settlementGroupMax);
    try {
      await this.#settleGroup(accountId, group);
    } catch (error) {
      // Put back in order.
      lane.waiting.unshift(...group.filter((request) => this.#isPending(request)));
      if (isAsideReason(error)) {
        this.#options.book.putAside(accountId, error);
        this.#putAside(lane);
      } else if (!this.#isClosed) void this.#rest(accountId, lane, error);
      return;
    }
    lane.phase = 'idle';
    lane.failures = 0;
    if (lane.waiting.length > 0) this.#wake(accountId, lane);
    else this.#lanes.delete(accountId);
  }

  #putAside(lane: AccountLane): void {
    lane.phase = 'aside';
    lane.failures = 0;
    this.#aside.add(lane);
    this.#options.onAside?.(lane.waiting.map(({ usage }) => usage.requestId));
    this.#tellIdle();
  }

  #return(accountId: AccountId): void {
    const lane = this.#lanes.get(accountId);
    if (lane === undefined || !this.#aside.delete(lane)) return;
    lane.phase = 'idle';
    this.#wake(accountId, lane);
  }

  /** Waits without a place among the appends: longer after each failure, and after a whole round of them longest. */
  async #rest(accountId: AccountId, lane: AccountLane, error: unknown): Promise<void> {
    lane.phase = 'resting';
    if (error instanceof ContentionError) {
      // Others make progress, so the log is there.
      await this.#restFor(accountId, lane, backOffMs(1));
      return;
    }
    const isFinal = !isLogAway(error);
    lane.failures = isFinal ? LIMITS.settlementAttemptsMax : lane.failures + 1;
    const isRoundOver = lane.failures >= LIMITS.settlementAttemptsMax;
    if (isRoundOver) {
      lane.failures = 0;
      this.#isLogAway = true;
      this.#options.onLogAway(error);
    }
    if (this.#isLogAway) this.#scout ??= lane;
    const isScout = this.#scout === lane;
    const longestMs = isRoundOver ? LIMITS.settlementBackoffMaxMs : backOffMs(lane.failures);
    const waitMs = isScout ? Math.min(longestMs, LIMITS.settlementScoutMs) : longestMs;
    await this.#restFor(accountId, lane, waitMs);
  }

  async #restFor(accountId: AccountId, lane: AccountLane, waitMs: number): Promise<void> {
    // Ended early by a sign of life, or by the close.
    await delay(waitMs, undefined, { signal: this.#rests.signal }).catch(() => undefined);
    // Whoever fails next takes over, so that an account with a trouble of its own is not the scout for ever.
    if (this.#scout === lane) this.#scout = null;
    if (this.#isClosed) return;
    this.#makeReady(accountId, lane);
    this.#startReady();
  }

  async #settleGroup(accountId: AccountId, group: readonly PendingRequest[]): Promise<void> {
    for (let conflicts = 0; !this.#isClosed; ) {
      const { events, proposed, at } = this.#decideGroup(accountId, group);
      if (proposed.length === 0) return;
      try {
        const result = await this.#options.log.append(accountStream(accountId), at, proposed);
        if (result.type === 'appended') {
          foldAppended(this.#options.book, accountId, at, events);
          conflicts = 0;
        } else {
          await catchUpBook(this.#options.log, this.#options.book, accountId);
          conflicts++;
        }
        if (this.#isLogAway) this.logIsBack();
      } catch (error) {
        if (error instanceof EventLogError && error.kind === 'invalid' && !isAsideReason(error))
          return this.#settleOneByOne(accountId, group, error);
        throw error;
      }
      if (conflicts >= LIMITS.settlementAttemptsMax)
        throw new ContentionError(`${conflicts} conflicts in a row on ${accountId}`);
      // Who has lost twice lets others go first for a moment: of several that always start together one always loses.
      if (conflicts > 1) await delay(Math.random() * conflicts * LIMITS.settlementLingerMs);
    }
  }

  /** The log will never take this append as it is: the requests that it would take are told from those that are stuck. */
  async #settleOneByOne(accountId: AccountId, group: readonly PendingRequest[], error: EventLogError): Promise<void> {
    const pending = group.filter((request) => this.#isPending(request));
    const [only, ...others] = pending;
    if (only !== undefined && others.length === 0) this.#giveUp(only.usage.requestId, error);
    else for (const request of pending) await this.#settleGroup(accountId, [request]);
  }

  /** Decides each request that is still pending on the state that the one before it leaves. */
  #decideGroup(accountId: AccountId, group: readonly PendingRequest[]) {
    const snapshot = this.#options.book.read(accountId);
    const recordedAt = new Date(this.#options.clock()).toISOString();
    const events: AccountEvent[] = [];
    const proposed: ProposedEvent[] = [];
    let bytes = 0;
    let { state } = snapshot;
    for (const request of group) {
      const { usage, card, leaseId, isLate } = request;
      if (!this.#isPending(request) || request.recorded) continue;
      try {
        if (state.type === 'unopened') throw new Error(`account ${accountId} was never opened`);
        const decided = isLate
          ? reportLateUsage({ type: 'ReportLateUsage', usage, card }, state)
          : recordUsage(state, usage, card, leaseId);
        if (decided.length === 0) {
          // Its late usage was reported before.
          this.#settled(request);
          continue;
        }
        request.hasDebit = decided.some(({ type }) => type === 'CreditsDebited');
        const encoded = encodeEvents(decided, {
          commandId: isLate ? commandOfLateUsage(usage.requestId) : commandOfRequest(usage.requestId),
          actor: usage.keyId,
          recordedAt,
        });
        for (const event of decided) state = evolve(state, event);
        events.push(...decided);
        proposed.push(...encoded);
        bytes += encoded.reduce((sum, { data, metadata }) => sum + data.length + metadata.length, 0);
        // The rest of the group goes with the next append.
        if (bytes > LIMITS.appendBytesMax / 2) break;
      } catch (error) {
        this.#giveUp(usage.requestId, error);
      }
    }
    return { events, proposed, at: snapshot.revision };
  }

  #observe(event: AccountEvent): void {
    if (event.type !== 'UsageRecorded' && event.type !== 'CreditsDebited' && event.type !== 'LateUsageReported') return;
    const { requestId } = event.data;
    const request = this.#pending.get(requestId);
    if (request === undefined) {
      if (event.type === 'UsageRecorded') this.#keepWhatIsUnderWay(requestId);
      return;
    }
    if (event.type === 'UsageRecorded' && event.data.outcome === 'recovered' && request.usage.outcome !== 'recovered') {
      // Never dropped: it is an exception, which an operator decides.
      request.isLate = true;
      return;
    }
    request.recorded = true;
    const isWhole = event.type !== 'UsageRecorded' || !(request.hasDebit ?? hasDebit(request));
    if (isWhole) this.#settled(request);
  }

  /** No more of them than are under way: one that no upstream has seen is abandoned, and never submitted. */
  #keepWhatIsUnderWay(recorded: RequestId): void {
    const { isUnderWay } = this.#options;
    if (isUnderWay?.(recorded) !== true) return;
    for (const earlier of this.#recoveredElsewhere) if (!isUnderWay(earlier)) this.#recoveredElsewhere.delete(earlier);
    this.#recoveredElsewhere.add(recorded);
  }

  #settled({ accountId, usage }: PendingRequest): void {
    this.#pending.delete(usage.requestId);
    this.#options.onSettled(accountId, usage);
    this.#tellIdle();
  }

  #giveUp(requestId: RequestId, error: unknown): void {
    this.#pending.delete(requestId);
    this.#options.onStuck(requestId, error);
    this.#tellIdle();
  }

  #tellIdle(): void {
    if (this.#idleWaiters.length === 0 || this.#pending.size !== this.aside) return;
    for (const resolve of this.#idleWaiters.splice(0)) resolve();
  }

  #isPending(request: PendingRequest): boolean {
    return this.#pending.get(request.usage.requestId) === request;
  }
}
