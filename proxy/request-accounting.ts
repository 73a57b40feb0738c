import type { Logger } from 'pino';
import type { AccountId, RequestId } from '../contracts/ids.ts';
import { microUsd } from '../contracts/money.ts';
import type { RateCard } from '../contracts/rate-card.ts';
import { mostDebitedWithinHold } from '../ledger/account/at-most-the-hold.ts';
import type { Journal } from '../ledger/journal/journal.ts';
import { type Ending, type StartedRequest, startText, usageOf } from '../ledger/settlement/request-record.ts';
import type { Settlement } from '../ledger/settlement/settlement.ts';
import type { Holds } from './admission/holds.ts';
import type { Moment, TimePassed } from './clock/time-passed.ts';
import type { RequestCounts } from './metrics/request-counts.ts';

/** A request between its hold and its settlement. */
export interface AccountedRequest {
  readonly requestId: RequestId;
  readonly accountId: AccountId;
  readonly card: RateCard;
  readonly started: StartedRequest;
  /** As the journal has it. */
  readonly startedText: string;
  readonly begun: Moment;
}

interface AccountingParts {
  /** Of the claim of this process; null where it has none. */
  readonly epoch: () => number | null;
  readonly journal: Journal;
  readonly holds: Holds;
  readonly settlement: Pick<Settlement, 'submit'>;
  readonly counts: RequestCounts;
  /** Whether all credit may be another process's by now, which holds nothing for what this one has under way. */
  readonly mayBeSpentElsewhere: () => boolean;
  readonly passed: TimePassed;
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
  readonly #settlement: Pick<Settlement, 'submit'>;
  readonly #counts: RequestCounts;
  readonly #mayBeSpentElsewhere: () => boolean;
  readonly #passed: TimePassed;
  readonly #leasedMs: number;
  readonly #logger: Logger;

  constructor(parts: AccountingParts) {
    this.#epoch = parts.epoch;
    this.#journal = parts.journal;
    this.#holds = parts.holds;
    this.#settlement = parts.settlement;
    this.#counts = parts.counts;
    this.#mayBeSpentElsewhere = parts.mayBeSpentElsewhere;
    this.#passed = parts.passed;
    this.#leasedMs = parts.leasedMs;
    this.#logger = parts.logger;
  }

  /** @throws JournalError when the journal cannot take it: the request must not go upstream, and holds nothing more. */
  begin(requestId: RequestId, accountId: AccountId, card: RateCard, begun: StartedRequest): AccountedRequest {
    const epoch = this.#epoch();
    const started = epoch === null ? begun : { ...begun, epoch };
    const text = startText(started);
    try {
      this.#journal.begin(requestId, text);
    } catch (error) {
      this.#holds.release(requestId);
      throw error;
    }
    return { requestId, accountId, card, started, startedText: text, begun: this.#passed.now() };
  }

  /**
   * The request's own time: its start, and how long it has taken since. Never before its start, whatever has become of
   * the wall clock meanwhile.
   */
  nowOf({ started, begun }: AccountedRequest): number {
    return Date.parse(started.startedAt) + Math.round(this.#passed.steadySince(begun));
  }

  /**
   * What the request cost is in the journal when this returns true; the ledger follows. False where the journal refused it,
   * which ends the process: a complete answer must not go out then, and stays open for the next start, which records it and
   * charges nothing. Whatever ended otherwise is settled from memory, as long as this process lasts.
   */
  finish(request: AccountedRequest, ending: Ending): boolean {
    const { requestId, accountId, card, started, startedText } = this.#withWhatIsHeld(request);
    const usage = usageOf(requestId, started, ending);
    const most = mostDebitedWithinHold(usage, card);
    try {
      this.#journal.finish(requestId, `{"started":${startedText},"ending":${JSON.stringify(ending)}}`);
    } catch (error) {
      this.#logger.error({ err: error, requestId }, 'the journal did not take a finished request');
      if (ending.outcome === 'completed') return false;
    }
    this.#counts.ended(ending.outcome);
    this.#holds.lower(requestId, most);
    this.#settlement.submit(accountId, usage, card, started.leaseId ?? null);
    return true;
  }

  /**
   * A process that stood still, or its machine, may end requests whose leases the clock has ended, or, where it was the
   * only proxy, after another has taken its name and all credit over: nothing is held for them any more, and others may
   * have spent it. What such a request costs is left out, and an operator decides. Said once, in the journal and in the
   * usage: however often its debit is decided, it is the same.
   */
  #withWhatIsHeld(request: AccountedRequest): AccountedRequest {
    const { started, begun } = request;
    const isLeaseOver = started.leaseId !== undefined && this.#passed.mostSince(begun) > this.#leasedMs;
    if (!isLeaseOver && !this.#mayBeSpentElsewhere()) return request;
    const unheld = { ...started, hold: microUsd(0n) };
    return { ...request, started: unheld, startedText: startText(unheld) };
  }

  /** An answer came by priority capacity that its request had not asked for. */
  gavePriorityUnasked(): void {
    this.#counts.gavePriorityUnasked();
  }

  /** It was admitted, and nobody waits for it before it has begun. */
  neverBegun(requestId: RequestId): void {
    this.#holds.release(requestId);
  }

  abandon({ requestId }: AccountedRequest): void {
    this.#holds.release(requestId);
    this.#journal.settle([requestId]);
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
