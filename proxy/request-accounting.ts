import type { Logger } from 'pino';
import type { AccountId, RequestId } from '../contracts/ids.ts';
import { microUsd } from '../contracts/money.ts';
import type { RateCard } from '../contracts/rate-card.ts';
import { mostDebitedWithinHold } from '../ledger/account/at-most-the-hold.ts';
import type { Journal } from '../ledger/journal/journal.ts';
import { type Ending, type StartedRequest, startText, usageOf } from '../ledger/settlement/request-record.ts';
import type { Settlement } from '../ledger/settlement/settlement.ts';
import type { Holds } from './admission/holds.ts';
import type { RequestCounts } from './metrics/request-counts.ts';

/** A request between its hold and its settlement. */
export interface AccountedRequest {
  readonly requestId: RequestId;
  readonly accountId: AccountId;
  readonly card: RateCard;
  readonly started: StartedRequest;
  /** As the journal has it. */
  readonly startedText: string;
  /** Its start by the clock that nobody sets. */
  readonly begunAtMs: number;
}

interface AccountingParts {
  /** Of the claim of this process; null where it has none. */
  readonly epoch: () => number | null;
  readonly journal: Journal;
  readonly holds: Holds;
  readonly settlement: Settlement;
  readonly counts: RequestCounts;
  /** Milliseconds by a clock that nobody sets. */
  readonly monotonic: () => number;
  /** How long after its start a request's lease holds what it costs. */
  readonly leasedMs: number;
  readonly logger: Logger;
}

/**
 * The money side of a request's life: begin before it goes upstream, then finish (however it ended) or abandon (no
 * upstream has seen it). Journal, holds and settlement are moved together here and nowhere else.
 */
export class RequestAccounting {
  readonly #epoch: () => number | null;
  readonly #journal: Journal;
  readonly #holds: Holds;
  readonly #settlement: Settlement;
  readonly #counts: RequestCounts;
  readonly #monotonic: () => number;
  readonly #leasedMs: number;
  readonly #logger: Logger;

  constructor(parts: AccountingParts) {
    this.#epoch = parts.epoch;
    this.#journal = parts.journal;
    this.#holds = parts.holds;
    this.#settlement = parts.settlement;
    this.#counts = parts.counts;
    this.#monotonic = parts.monotonic;
    this.#leasedMs = parts.leasedMs;
    this.#logger = parts.logger;
  }

  /** @throws JournalError when the journal cannot take it: the request must not go upstream. */
  begin(requestId: RequestId, accountId: AccountId, card: RateCard, begun: StartedRequest): AccountedRequest {
    const epoch = this.#epoch();
    const started = epoch === null ? begun : { ...begun, epoch };
    const text = startText(started);
    this.#journal.begin(requestId, text);
    return { requestId, accountId, card, started, startedText: text, begunAtMs: this.#monotonic() };
  }

  /**
   * The request's own time: its start, and how long it has taken since. Never before its start, whatever has become of
   * the wall clock meanwhile.
   */
  nowOf({ started, begunAtMs }: AccountedRequest): number {
    return Date.parse(started.startedAt) + Math.round(this.#monotonic() - begunAtMs);
  }

  /** What the request cost is in the journal when this returns; the ledger follows. */
  finish(request: AccountedRequest, ending: Ending): void {
    const { requestId, accountId, card, started, startedText } = this.#withinItsLease(request);
    const usage = usageOf(requestId, started, ending);
    const most = mostDebitedWithinHold(usage, card);
    try {
      this.#journal.finish(requestId, `{"started":${startedText},"ending":${JSON.stringify(ending)}}`);
    } catch (error) {
      // The request is settled from memory; only a crash before that would now lose its usage.
      this.#logger.error({ err: error, requestId }, 'the journal did not take a finished request');
    }
    this.#counts.ended(ending.outcome);
    this.#holds.lower(requestId, most);
    this.#settlement.submit(accountId, usage, card, started.leaseId ?? null);
  }

  /**
   * A process that stood still may end requests whose leases the clock has ended: others may have spent that credit by
   * now, so nothing is held for them any more. What such a request costs is left out, and an operator decides.
   */
  #withinItsLease(request: AccountedRequest): AccountedRequest {
    const { started } = request;
    const isOver = started.leaseId !== undefined && this.#monotonic() - request.begunAtMs > this.#leasedMs;
    if (!isOver) return request;
    const unheld = { ...started, hold: microUsd(0n) };
    return { ...request, started: unheld, startedText: startText(unheld) };
  }

  /** An answer came by priority capacity that its request had not asked for. */
  gavePriorityUnasked(): void {
    this.#counts.gavePriorityUnasked();
  }

  abandon({ requestId }: AccountedRequest): void {
    this.#holds.release(requestId);
    this.#journal.settle([requestId]);
    this.#settlement.abandon(requestId);
  }

  /** Resolves when everything that was begun and finished so far is on disk. A failed sync is told, not thrown. */
  async durable(): Promise<void> {
    try {
      await this.#journal.durable();
    } catch (error) {
      this.#logger.error({ err: error }, 'the journal was not synced to disk');
    }
  }
}
