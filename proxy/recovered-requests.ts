import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { type EventLog, EventLogError } from '../contracts/event-log.ts';
import type { RequestId } from '../contracts/ids.ts';
import { mostDebited } from '../contracts/money.ts';
import { monthOf } from '../ledger/account/month.ts';
import { rateCardOf } from '../ledger/catalog/catalog-state.ts';
import type { Journal, RecoveredRequest } from '../ledger/journal/journal.ts';
import { rateUsage } from '../ledger/rating.ts';
import { type ReadRequest, readRecovered } from '../ledger/settlement/read-recovered.ts';
import { examineRecovered, type JournalFindings } from '../ledger/settlement/recover-requests.ts';
import type { Settlement } from '../ledger/settlement/settlement.ts';
import type { Projections } from '../projections/projections.ts';
import type { Holds } from './admission/holds.ts';

/** Between two looks for a log that is away. The looking ends with the gateway. */
const LOOK_MS = 250;

export interface RecoveredRequestsParts {
  readonly recovered: readonly RecoveredRequest[];
  readonly log: EventLog;
  readonly journal: Journal;
  readonly holds: Holds;
  readonly settlement: Settlement;
  readonly projections: Pick<Projections, 'accounts' | 'catalog'>;
  readonly clock: () => number;
  readonly logger: Logger;
}

/**
 * Requests of an earlier run that the journal has kept. With the log in sight they are settled before any new request
 * is admitted; without it what they have cost is held against their accounts, so that no credit is spent twice.
 *
 * An append of the process that died may reach the log at any time, also after its stream was read here. So the book is
 * watched from the start: what it folds before the hand-over to settlement was folded under this watch, what it folds
 * after under settlement's own.
 */
export class RecoveredRequests {
  readonly #parts: RecoveredRequestsParts;
  readonly #waiting: Set<RequestId>;
  readonly #recordedSince = new Set<RequestId>();
  readonly #closing = new AbortController();
  #isHeld = false;

  constructor(parts: RecoveredRequestsParts) {
    this.#parts = parts;
    this.#waiting = new Set(parts.recovered.map(({ requestId }) => requestId));
    if (this.#waiting.size === 0) return;
    this.hold();
    parts.projections.accounts.onFolded((_accountId, event) => {
      if (event.type === 'UsageRecorded' && this.#waiting.has(event.data.requestId))
        this.#recordedSince.add(event.data.requestId);
    });
  }

  /** How many are not handed over yet. */
  get count(): number {
    return this.#waiting.size;
  }

  /**
   * Holds what they have cost until they are settled; nothing where no usage was seen, because that is not charged.
   * Idempotent. False where the catalog that is known does not have the price of one: then nobody can say what is left to spend.
   */
  hold(): boolean {
    const { recovered, projections, clock, holds } = this.#parts;
    if (this.#isHeld) return true;
    const toHold: (() => void)[] = [];
    for (const request of recovered) {
      const read = readRecovered(request, clock());
      if (!read.usage.billable) continue;
      const card = rateCardOf(projections.catalog.state, read.usage.rateCard);
      if (card === null) return false;
      const cost = mostDebited(rateUsage(read.usage, card).cost);
      const { hold } = read.usage;
      const amount = hold === null || cost < hold ? cost : hold;
      toHold.push(() => holds.place(request.requestId, holdOf(read, amount)));
    }
    for (const place of toHold) place();
    this.#isHeld = true;
    return true;
  }

  /**
   * Hands them to settlement, or lets the journal forget those that the ledger has; waits for a log that is away.
   * @throws Error when a record cannot be read, its price is not in the catalog, or the gateway closes meanwhile.
   */
  async settle(): Promise<void> {
    if (this.#waiting.size === 0) return;
    const { journal, holds, settlement, projections, logger } = this.#parts;
    this.hold();
    const { unsettled, recorded } = await this.#examine();
    // From here to the start of settlement in one turn of the event loop: no fold falls between the two watches.
    const inLedger = recorded.concat([...this.#recordedSince].filter((requestId) => !recorded.includes(requestId)));
    for (const requestId of inLedger) holds.release(requestId);
    journal.settle(inLedger);
    this.#waiting.clear();
    const left = unsettled.filter(({ usage }) => !this.#recordedSince.has(usage.requestId));
    const earlier = left.map((request) => {
      const { usage } = request;
      const card = rateCardOf(projections.catalog.state, usage.rateCard);
      if (card === null)
        throw new Error(`${usage.requestId} names rate card ${usage.rateCard.hash}, which the catalog never had`);
      return { ...request, card };
    });
    settlement.startAfter(earlier);
    await settlement.idle();
    logger.info({ settled: left.length, wereSettled: inLedger.length }, 'requests of the last run are settled');
  }

  /** Ends the waiting for a log that is away. The journal keeps what is not settled. */
  close(): void {
    this.#closing.abort();
  }

  async #examine(): Promise<JournalFindings> {
    const { log, recovered, clock, projections, logger } = this.#parts;
    for (let looks = 0; ; looks++) {
      try {
        return await examineRecovered(log, recovered, clock(), (of) => projections.accounts.read(of).revision);
      } catch (error) {
        if (!(error instanceof EventLogError && error.canRetry)) throw error;
        if (looks === 0) logger.warn({ err: error }, 'the event log does not answer; requests of the last run wait');
        await delay(LOOK_MS, undefined, { signal: this.#closing.signal });
      }
    }
  }
}

const holdOf = ({ started }: ReadRequest, amount: ReturnType<typeof mostDebited>) => ({
  accountId: started.accountId,
  keyId: started.keyId,
  month: monthOf(Date.parse(started.startedAt)),
  amount,
  leaseId: started.leaseId ?? null,
  startedAtMs: Date.parse(started.startedAt),
});
