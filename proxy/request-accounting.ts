import type { Logger } from 'pino';
import type { AccountId, RequestId } from '../contracts/ids.ts';
import { type MicroUsd, microUsd, mostDebited, type PicoUsd } from '../contracts/money.ts';
import type { RateCard } from '../contracts/rate-card.ts';
import { costWithinHold } from '../ledger/account/at-most-the-hold.ts';
import { monthOf } from '../ledger/account/month.ts';
import type { Journal } from '../ledger/journal/journal.ts';
import { type Ending, type StartedRequest, startText, usageOf } from '../ledger/settlement/request-record.ts';
import type { Settlement } from '../ledger/settlement/settlement.ts';
import type { Moment, TimePassed } from './clock/time-passed.ts';
import type { Holds } from './holds.ts';
import type { JournalForgetting } from './journal-forgetting.ts';
import type { RequestCounts } from './request-counts.ts';

/** A request between its hold and its settlement. */
export interface OpenRequest {
  readonly requestId: RequestId;
  readonly accountId: AccountId;
  readonly card: RateCard;
  readonly started: StartedRequest;
  /** As the journal has it. */
  readonly startedText: string;
  readonly begun: Moment;
}

/** What of a request's start its hold counts by. */
export type HeldStart = Pick<StartedRequest, 'accountId' | 'keyId' | 'startedAt' | 'leaseId'>;

interface AccountingParts {
  /** Of the claim of this process; null where it has none. */
  readonly epoch: () => number | null;
  readonly journal: Pick<Journal, 'begin' | 'finish' | 'settle' | 'durable' | 'keepAside'>;
  readonly forgetting: Pick<JournalForgetting, 'add'>;
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
 * The one owner of a request's money: holds are placed, lowered and released here alone, each with what the journal has of
 * the request. What an earlier run has left is settled by recovered-requests.ts, and what is settled is forgotten by
 * journal-forgetting.ts.
 *
 *   open ─┬─▶ finish ──▶ settled      held and in the journal before it goes upstream; however it ended, what it cost
 *         └─▶ abandon                 follows into the ledger. Abandoned: no upstream has seen it.
 *
 *   reopen ─▶ settled | forget       what the journal has of an earlier run (recovered-requests.ts)
 */
export class RequestAccounting {
  readonly #parts: AccountingParts;

  constructor(parts: AccountingParts) {
    this.#parts = parts;
  }

  /** Holds `hold`, and journals the start. @throws JournalError: then it must not go upstream, and holds nothing */
  open(
    requestId: RequestId,
    card: RateCard,
    hold: MicroUsd,
    begun: Omit<StartedRequest, 'hold' | 'epoch'>,
  ): OpenRequest {
    const { holds, journal, passed } = this.#parts;
    const epoch = this.#parts.epoch();
    const started: StartedRequest = { ...begun, ...(epoch === null ? {} : { epoch }), hold };
    const startedText = startText(started);
    this.reopen(requestId, started, hold);
    try {
      journal.begin(requestId, startedText);
    } catch (error) {
      holds.release(requestId);
      throw error;
    }
    return { requestId, accountId: started.accountId, card, started, startedText, begun: passed.now() };
  }

  /** Holds again for a request that the journal has. */
  reopen(requestId: RequestId, started: HeldStart, amount: MicroUsd): void {
    const { accountId, keyId, leaseId = null } = started;
    const startedAtMs = Date.parse(started.startedAt);
    this.#parts.holds.place(requestId, { accountId, keyId, month: monthOf(startedAtMs), amount, leaseId, startedAtMs });
  }

  /** Its start and how long it has taken; never before its start, whatever has become of the wall clock. */
  nowOf({ started, begun }: OpenRequest): number {
    return Date.parse(started.startedAt) + Math.round(this.#parts.passed.steadySince(begun));
  }

  /**
   * What the request cost is in the journal when this returns it; the ledger follows. Null where the journal refused it,
   * which ends the process: a complete answer must not go out then, and stays open for the next start, which records it and
   * charges nothing. Whatever ended otherwise is settled from memory, as long as this process lasts.
   */
  finish(request: OpenRequest, ending: Ending): PicoUsd | null {
    const { journal, logger, counts, holds, settlement } = this.#parts;
    const { requestId, accountId, card, started, startedText } = this.#withPlacedHold(request);
    const usage = usageOf(requestId, started, ending);
    const cost = costWithinHold(usage, card);
    try {
      journal.finish(requestId, `{"started":${startedText},"ending":${JSON.stringify(ending)}}`);
    } catch (error) {
      logger.error({ err: error, requestId }, 'the journal did not take a finished request');
      if (ending.outcome === 'completed') return null;
    }
    counts.ended(ending.outcome);
    holds.lower(requestId, mostDebited(cost));
    settlement.submit({ accountId, usage, card, leaseId: started.leaseId ?? null });
    return cost;
  }

  /**
   * A process that stood still, or its machine, may end requests whose leases the clock has ended, or, where it was the
   * only proxy, after another has taken its name and all credit over: nothing is held for them any more, and others may
   * have spent it. What such a request costs is left out, and an operator decides. Said once, in the journal and in the
   * usage: however often its debit is decided, it is the same.
   */
  #withPlacedHold(request: OpenRequest): OpenRequest {
    const { started, begun } = request;
    const isLeaseOver = started.leaseId !== undefined && this.#parts.passed.mostSince(begun) > this.#parts.leasedMs;
    if (!isLeaseOver && !this.#parts.mayBeSpentElsewhere()) return request;
    const unheld = { ...started, hold: microUsd(0n) };
    return { ...request, started: unheld, startedText: startText(unheld) };
  }

  /** An answer came by priority capacity that its request had not asked for. */
  gavePriorityUnasked(): void {
    this.#parts.counts.priorityUnasked++;
  }

  /** No upstream has seen it: it costs nothing. */
  abandon({ requestId }: OpenRequest): void {
    this.forget([requestId]);
  }

  /** Its usage and debit are in the ledger, and folded: nothing is held, and the journal forgets it once the views' file has them. */
  settled(requestId: RequestId): void {
    this.#parts.holds.release(requestId);
    this.#parts.forgetting.add(requestId);
  }

  /** They cost nothing, or the ledger and the views have it already: nothing is held, and the journal forgets them at once. */
  forget(requestIds: readonly RequestId[]): void {
    for (const requestId of requestIds) this.#parts.holds.release(requestId);
    this.#parts.journal.settle(requestIds);
  }

  /** They wait for an account that is set aside: however long, they fill no bound that others need. */
  keepAside(requestIds: readonly RequestId[]): void {
    this.#parts.journal.keepAside(requestIds);
  }

  /** Resolves when everything that was begun and finished so far is on disk. A failed sync is told, not thrown. */
  async durable(): Promise<void> {
    try {
      await this.#parts.journal.durable();
    } catch (error) {
      this.#parts.logger.error({ err: error }, 'the journal was not synced to disk');
    }
  }
}
