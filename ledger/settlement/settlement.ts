import type { EventLog } from '../../contracts/event-log.ts';
import type { UsageRecorded } from '../../contracts/events.ts';
import type { AccountId, RequestId } from '../../contracts/ids.ts';
import type { AccountRepository } from '../account/account-repository.ts';
import type { LogBreaker } from '../log-breaker.ts';
import { TIMING, type Timing } from '../timing.ts';
import { AccountTurns } from './account-turns.ts';
import { appendGroup } from './append-group.ts';
import { AwaitedFolds } from './awaited-folds.ts';
import type { EarlierRequest, EndedRequest } from './pending-request.ts';
import { PendingRequests } from './pending-requests.ts';

interface SettlementOptions {
  readonly log: EventLog;
  readonly repository: AccountRepository;
  readonly clock: () => number;
  /** Opened by a whole round of attempts that fail; the log tells it of what it takes (told-log.ts). */
  readonly breaker: LogBreaker;
  /** Told once for each request, when its usage and debit are in the ledger and folded into the repository. */
  readonly onSettled: (accountId: AccountId, usage: UsageRecorded) => void;
  /** A request that cannot be settled by this program (a bug): it stays in the journal for the next start. */
  readonly onStuck: (requestId: RequestId, error: unknown) => void;
  /** Requests wait, however long, until their account is not set aside any more: each told once, then settled. */
  readonly onAside?: (requestIds: readonly RequestId[]) => void;
  /** As AccountTurns'. */
  readonly onOwnTrouble?: (accountId: AccountId, error: unknown) => void;
  /** Whether a request is under way here and has not ended: somebody else may record it all the same. */
  readonly isUnderWay?: (requestId: RequestId) => boolean;
  /** Nothing is appended before `startAfter`: requests of an earlier run come first. */
  readonly waitsForEarlier?: boolean;
  readonly timing?: Timing;
}

/**
 * Brings finished requests into the ledger, each exactly once.
 *
 *   submit ─▶ pending-requests ─▶ account-turns ─▶ append-group ─▶ folded ─▶ settled
 *             what is pending      whose turn       one append
 *
 * The requests of one account go one group after another, each group as one append at the revision that the repository
 * knows. What makes it exactly once: a request is settled when its `UsageRecorded` is *folded into the repository*, no matter
 * from where (own append, a read after a conflict, the subscription). The repository at revision r has folded everything up
 * to r, so a request still pending is not in the ledger up to r; and the append succeeds at r only. An append whose
 * answer was lost is therefore found by the conflict that the next one meets, or by the log's own idempotency.
 */
export class Settlement {
  readonly #pending: PendingRequests;
  readonly #turns: AccountTurns;
  readonly #idleWaiters: (() => void)[] = [];

  constructor(options: SettlementOptions) {
    const { log, repository, clock, breaker, onSettled, onStuck, onAside, timing = TIMING } = options;
    const isUnderWay = options.isUnderWay ?? (() => false);
    const onLeft = (): void => this.#tellIdle();
    const pending = new PendingRequests({ onSettled, onStuck, isUnderWay, onLeft });
    const isClosed = (): boolean => this.#turns.isClosed;
    const parts = { log, repository, clock, timing, pending, awaited: new AwaitedFolds(repository, timing), isClosed };
    this.#pending = pending;
    this.#turns = new AccountTurns({
      repository,
      clock,
      timing,
      breaker,
      pending,
      append: (accountId, group) => appendGroup(accountId, group, parts),
      onAside: (requests) => {
        onAside?.(requests.map(({ usage }) => usage.requestId));
        this.#tellIdle();
      },
      onOwnTrouble: (accountId, error) => options.onOwnTrouble?.(accountId, error),
      waitsForStart: options.waitsForEarlier === true,
    });
    repository.onFolded((_accountId, event) => pending.observe(event));
    repository.onReturned((accountId) => this.#turns.return(accountId));
  }

  /** Requests submitted and not settled. */
  get pending(): number {
    return this.#pending.count;
  }

  /** Those of them that wait for accounts that are set aside. */
  get aside(): number {
    return this.#turns.aside;
  }

  /** Takes over a finished request, which the journal already holds. A second submission of one is ignored. */
  submit(ended: EndedRequest): void {
    const request = this.#pending.add(ended);
    if (request !== null) this.#turns.join(request);
  }

  /** Ends the waiting for requests of an earlier run: they go before what was submitted meanwhile, in their order. */
  startAfter(earlier: readonly EarlierRequest[]): void {
    if (this.#turns.hasStarted) throw new Error('settlement has started');
    this.#turns.start(() => {
      for (const request of earlier) this.submit(request);
    });
  }

  /** Resolves when nothing is pending but what waits for accounts that are set aside. */
  idle(): Promise<void> {
    if (this.#isIdle) return Promise.resolve();
    return new Promise((resolve) => this.#idleWaiters.push(resolve));
  }

  /** Starts no further append. What is pending stays in the journal. */
  close(): void {
    this.#turns.close();
  }

  get #isIdle(): boolean {
    return this.pending === this.aside;
  }

  #tellIdle(): void {
    if (this.#idleWaiters.length === 0 || !this.#isIdle) return;
    for (const resolve of this.#idleWaiters.splice(0)) resolve();
  }
}
