import type { Logger } from 'pino';
import type { EventLog } from '../contracts/event-log.ts';
import type { AccountId, RequestId } from '../contracts/ids.ts';
import type { AsideReason } from '../ledger/account/account-repository.ts';
import { mostDebitedWithinHold } from '../ledger/account/at-most-the-hold.ts';
import { rateCardOf } from '../ledger/catalog/catalog-state.ts';
import type { RecoveredRequest } from '../ledger/journal/journal.ts';
import type { EarlierRequest } from '../ledger/settlement/pending-request.ts';
import { readRecovered } from '../ledger/settlement/read-recovered.ts';
import {
  type JournalFindings,
  reconcileRecovered,
  type UnsettledRequest,
} from '../ledger/settlement/recover-requests.ts';
import type { Settlement } from '../ledger/settlement/settlement.ts';
import { untilLogAnswers } from '../ledger/until-log-answers.ts';
import type { Projections } from '../projections/projections.ts';
import type { RequestAccounting } from './request-accounting.ts';

/** The longest that a timer waits. */
const TIMER_MS_MAX = 2 ** 31 - 1;

interface RecoveredRequestsParts {
  readonly recovered: readonly RecoveredRequest[];
  readonly ofEarlierGeneration: ReadonlySet<RequestId>;
  readonly log: EventLog;
  readonly accounting: Pick<RequestAccounting, 'reopen' | 'forget' | 'keepAside'>;
  readonly settlement: Settlement;
  readonly projections: Pick<Projections, 'accounts' | 'catalog'>;
  /** Whether requests that were admitted under a claim's epoch are known to be under way no more. */
  readonly isOver: (epoch: number) => boolean;
  /** From its admission on a request can be under way for so long, whoever has it. */
  readonly longestMs: number;
  /** Told of each that stays in the journal for the next start. */
  readonly cannotSettle: (requestId: RequestId) => void;
  readonly clock: () => number;
  readonly logger: Logger;
}

/**
 * Requests of an earlier run that the journal has kept. With the log in sight they are settled before any new request
 * is admitted; without it what they have cost is held against their accounts, so that no credit is spent twice.
 *
 * An append of the process that died may reach the log at any time, also after its stream was read here. So the repository is
 * watched from the start: what it folds before the hand-over to settlement was folded under this watch, what it folds
 * after under settlement's own.
 */
export class RecoveredRequests {
  readonly #parts: RecoveredRequestsParts;
  readonly #waiting: Set<RequestId>;
  readonly #recordedSince = new Set<RequestId>();
  /** Of those whose usage the journal has, what somebody else has recorded as `recovered` since. */
  readonly #lateSince = new Set<RequestId>();
  /** Without an end in the journal, and maybe under way in another process: it may still record them. */
  readonly #deferred = new Map<RequestId, NodeJS.Timeout>();
  /** Those of accounts that were set aside when they were to be handed over. */
  readonly #aside = new Map<AccountId, RecoveredRequest[]>();
  readonly #closing = new AbortController();
  #isHeld = false;

  constructor(parts: RecoveredRequestsParts) {
    this.#parts = parts;
    this.#waiting = new Set(parts.recovered.map(({ requestId }) => requestId));
    if (this.#waiting.size === 0) return;
    this.hold();
    const ended = new Set(parts.recovered.filter(({ finished }) => finished !== null).map((one) => one.requestId));
    parts.projections.accounts.onFolded((_accountId, event) => {
      if (event.type !== 'UsageRecorded') return;
      const { requestId, outcome } = event.data;
      if (this.#deferred.has(requestId)) this.#endDeferral(requestId);
      else if (!this.#waiting.has(requestId)) return;
      else if (outcome === 'recovered' && ended.has(requestId)) this.#lateSince.add(requestId);
      else this.#recordedSince.add(requestId);
    });
    parts.projections.accounts.onReturned((accountId) => void this.#settleReturned(accountId));
  }

  /** How many are not handed over yet, those of accounts that are set aside among them. */
  get count(): number {
    return this.#waiting.size;
  }

  /** How many may be under way elsewhere, and are handed over when they no longer can be. */
  get deferred(): number {
    return this.#deferred.size;
  }

  /** Whether this is still the one to see to a request: not handed over, and not heard of in the ledger. */
  has(requestId: RequestId): boolean {
    return this.#waiting.has(requestId) || this.#deferred.has(requestId);
  }

  /**
   * Holds what they have cost until they are settled; nothing where no usage was seen, because that is not charged.
   * Idempotent. False where the catalog that is known does not have the price of one: then nobody can say what is left to spend.
   */
  hold(): boolean {
    const { recovered, projections, clock, accounting } = this.#parts;
    if (this.#isHeld) return true;
    const toHold: (() => void)[] = [];
    for (const request of recovered) {
      const read = readRecovered(request, clock());
      if (!read.usage.billable) continue;
      const card = rateCardOf(projections.catalog.state, read.usage.rateCard);
      if (card === null) return false;
      const amount = mostDebitedWithinHold(read.usage, card);
      toHold.push(() => accounting.reopen(request.requestId, read.started, amount));
    }
    for (const place of toHold) place();
    this.#isHeld = true;
    return true;
  }

  /**
   * Hands them to settlement, or lets the journal forget those that the ledger has; waits for a log that is away. Those of
   * accounts that are set aside stay, held, until their account is not.
   * @throws Error when a record cannot be read, its price is not in the catalog, or the gateway closes meanwhile.
   */
  async settle(): Promise<void> {
    if (this.#waiting.size === 0) return;
    const { recovered, settlement, logger } = this.#parts;
    this.hold();
    const { handedOver, inLedger } = await this.#handOver(recovered, (requests) => settlement.startAfter(requests));
    // Idle means that none is pending but those of accounts that are set aside: one that cannot be settled is told.
    await settlement.idle();
    const { aside } = settlement;
    const told = { settled: handedOver - aside, wereSettled: inLedger, wait: aside + this.count + this.deferred };
    logger.info(told, 'requests of the last run are settled, but for those that wait');
  }

  /** By themselves, however long after the start. What cannot be handed over then is for the next start. */
  async #settleReturned(accountId: AccountId): Promise<void> {
    const { settlement, logger, cannotSettle } = this.#parts;
    const requests = this.#aside.get(accountId);
    if (requests === undefined) return;
    this.#aside.delete(accountId);
    const submit = (earlier: readonly EarlierRequest[]): void => {
      for (const request of earlier) settlement.submit(request);
    };
    try {
      const { handedOver, inLedger } = await this.#handOver(requests, submit);
      logger.info(
        { accountId, settled: handedOver, wereSettled: inLedger },
        'requests of the account are settled, as it is back',
      );
    } catch (error) {
      if (this.#closing.signal.aborted) return;
      logger.error({ err: error, accountId }, 'requests of the account cannot be settled; the journal keeps them');
      for (const { requestId } of requests) if (this.#waiting.has(requestId)) cannotSettle(requestId);
    }
  }

  async #handOver(
    requests: readonly RecoveredRequest[],
    submit: (requests: readonly EarlierRequest[]) => void,
  ): Promise<{ readonly handedOver: number; readonly inLedger: number }> {
    const { unsettled, recorded, untold } = await this.#reconcile(requests);
    // From here to the start of settlement in one turn of the event loop: no fold falls between the two watches.
    const isRecorded = new Set(recorded);
    const inLedger = recorded.concat([...this.#recordedSince].filter((requestId) => !isRecorded.has(requestId)));
    this.#parts.accounting.forget(inLedger);
    const left = unsettled
      .filter(({ usage }) => !this.#recordedSince.has(usage.requestId))
      .map((request) => this.#priced(request));
    const told = [...inLedger, ...unsettled.map(({ usage }) => usage.requestId)];
    for (const requestId of told) this.#waiting.delete(requestId);
    this.#recordedSince.clear();
    this.#keepAside(requests, untold);
    const deferred = left.filter((request) => this.#mayBeUnderWay(request));
    for (const request of deferred) this.#defer(request);
    submit(left.filter((request) => !deferred.includes(request)));
    return { handedOver: left.length - deferred.length, inLedger: inLedger.length };
  }

  #priced(request: UnsettledRequest): UnsettledRequest & EarlierRequest {
    const { usage } = request;
    const card = rateCardOf(this.#parts.projections.catalog.state, usage.rateCard);
    if (card === null)
      throw new Error(`${usage.requestId} names rate card ${usage.rateCard.hash}, which the catalog never had`);
    return { ...request, card, isLate: request.isLate || this.#lateSince.has(usage.requestId) };
  }

  /** What stands in a stream that cannot be read cannot be told: it may be there already. */
  #keepAside(requests: readonly RecoveredRequest[], untold: ReadonlyMap<AccountId, AsideReason>): void {
    const { projections, clock, accounting } = this.#parts;
    const left = requests.filter(({ requestId }) => this.#waiting.has(requestId));
    accounting.keepAside(left.map(({ requestId }) => requestId));
    for (const request of left) {
      const { accountId } = readRecovered(request, clock()).started;
      const ofAccount = this.#aside.get(accountId);
      if (ofAccount === undefined) this.#aside.set(accountId, [request]);
      else ofAccount.push(request);
    }
    for (const [accountId, reason] of untold) projections.accounts.putAside(accountId, reason);
  }

  /**
   * A copy of the folder may have been made while its process had the request, and that process may go on: what it used
   * is recorded by it. Only once no process can have it any more it is recorded as `recovered`. Until then what it may
   * cost is held.
   */
  #mayBeUnderWay({ usage, epoch }: UnsettledRequest): boolean {
    const { isOver, clock, longestMs } = this.#parts;
    return usage.outcome === 'recovered' && !isOver(epoch) && clock() < Date.parse(usage.startedAt) + longestMs;
  }

  #defer({ accountId, usage, card, leaseId }: EarlierRequest): void {
    const { settlement, clock, longestMs, accounting } = this.#parts;
    // Under a lease the log has it set aside; without one nobody but this journal knows what it may cost.
    if (leaseId === null && usage.hold !== null)
      accounting.reopen(usage.requestId, { accountId, ...usage }, usage.hold);
    const untilMs = Date.parse(usage.startedAt) + longestMs - clock();
    const timer = setTimeout(
      () => {
        this.#deferred.delete(usage.requestId);
        settlement.submit({ accountId, usage, card, leaseId });
      },
      Math.min(untilMs, TIMER_MS_MAX),
    );
    this.#deferred.set(usage.requestId, timer);
  }

  /** Whoever had it has recorded it. */
  #endDeferral(requestId: RequestId): void {
    clearTimeout(this.#deferred.get(requestId));
    this.#deferred.delete(requestId);
    this.#parts.accounting.forget([requestId]);
  }

  /** Ends the waiting for a log that is away. The journal keeps what is not settled. */
  close(): void {
    for (const timer of this.#deferred.values()) clearTimeout(timer);
    this.#closing.abort();
  }

  #reconcile(recovered: readonly RecoveredRequest[]): Promise<JournalFindings> {
    const { log, ofEarlierGeneration, clock, projections, logger } = this.#parts;
    const foldedUpTo = (of: AccountId) => projections.accounts.read(of).revision;
    return untilLogAnswers(() => reconcileRecovered(log, recovered, clock(), foldedUpTo, ofEarlierGeneration), {
      signal: this.#closing.signal,
      onFirst: (error) => logger.warn({ err: error }, 'the event log does not answer; requests of the last run wait'),
    });
  }
}
