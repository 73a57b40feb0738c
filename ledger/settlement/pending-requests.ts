import type { AccountEvent, UsageRecorded } from '../../contracts/events.ts';
import type { AccountId, RequestId } from '../../contracts/ids.ts';
import { PassingMap } from '../../contracts/passing-map.ts';
import { type EndedRequest, hasDebit, type PendingRequest } from './pending-request.ts';

export interface PendingRequestsOptions {
  /** Told once for each request, when its usage and debit are in the ledger and folded into the repository. */
  readonly onSettled: (accountId: AccountId, usage: UsageRecorded) => void;
  /** A request that cannot be settled by this program (a bug): it stays in the journal for the next start. */
  readonly onStuck: (requestId: RequestId, error: unknown) => void;
  /** Whether a request is under way here and has not ended: somebody else may record it all the same. */
  readonly isUnderWay: (requestId: RequestId) => boolean;
  /** One fewer is pending. */
  readonly onLeft: () => void;
}

/** What is pending: submitted, and not folded into the repository yet, no matter from where the fold comes. */
export class PendingRequests {
  readonly #options: PendingRequestsOptions;
  readonly #pending = new PassingMap<RequestId, PendingRequest>();
  /** Requests under way here that somebody else has recorded as `recovered`. */
  readonly #recoveredByOthers = new Set<RequestId>();

  constructor(options: PendingRequestsOptions) {
    this.#options = options;
  }

  get count(): number {
    return this.#pending.size;
  }

  has(request: PendingRequest): boolean {
    return this.#pending.get(request.usage.requestId) === request;
  }

  /** Null where it is pending already. Late where that is said, or where somebody else has recorded it as `recovered`. */
  add({ accountId, usage, card, leaseId, isLate }: EndedRequest): PendingRequest | null {
    const { requestId } = usage;
    const wasRecovered = isLate ?? this.#recoveredByOthers.delete(requestId);
    if (this.#pending.has(requestId)) return null;
    const request = { accountId, usage, card, leaseId, isLate: wasRecovered, recorded: false, hasDebit: null };
    this.#pending.set(requestId, request);
    return request;
  }

  /** An event that was folded into the repository. */
  observe(event: AccountEvent): void {
    if (event.type !== 'UsageRecorded' && event.type !== 'CreditsDebited' && event.type !== 'LateUsageReported') return;
    const { requestId } = event.data;
    const request = this.#pending.get(requestId);
    if (request === undefined) {
      if (event.type === 'UsageRecorded') this.#noteIfUnderWay(requestId);
      return;
    }
    if (event.type === 'UsageRecorded' && event.data.outcome === 'recovered' && request.usage.outcome !== 'recovered') {
      // Never dropped: it is an exception, which an operator decides.
      request.isLate = true;
      return;
    }
    request.recorded = true;
    const isWhole = event.type !== 'UsageRecorded' || !(request.hasDebit ?? hasDebit(request));
    if (isWhole) this.settled(request);
  }

  settled({ accountId, usage }: PendingRequest): void {
    this.#pending.delete(usage.requestId);
    this.#options.onSettled(accountId, usage);
    this.#options.onLeft();
  }

  giveUp({ usage: { requestId } }: PendingRequest, error: unknown): void {
    this.#pending.delete(requestId);
    this.#options.onStuck(requestId, error);
    this.#options.onLeft();
  }

  /** No more of them than are under way: one that no upstream has seen is abandoned, and never submitted. */
  #noteIfUnderWay(recorded: RequestId): void {
    const { isUnderWay } = this.#options;
    if (!isUnderWay(recorded)) return;
    for (const earlier of this.#recoveredByOthers) if (!isUnderWay(earlier)) this.#recoveredByOthers.delete(earlier);
    this.#recoveredByOthers.add(recorded);
  }
}
