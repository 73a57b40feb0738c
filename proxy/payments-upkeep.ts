import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { EventLog } from '../contracts/event-log.ts';
import type { AccountId, AttemptId } from '../contracts/ids.ts';
import { LIMITS } from '../contracts/limits.ts';
import type { CreditsMoved } from '../ledger/account/credits-moved.ts';
import type { WhyNot } from '../ledger/account/execute-command.ts';
import type { PaymentAttempt } from '../ledger/account/payments-state.ts';
import type { KnownPlans } from '../ledger/catalog/known-plans.ts';
import { NowAndThen } from '../ledger/now-and-then.ts';
import { takesMoneyOf } from '../ledger/payments/ask-of-attempt.ts';
import { type PaymentProvider, UnfitAnswerError } from '../ledger/payments/payment-provider.ts';
import { pursuePayments, type UnwrittenPayments } from '../ledger/payments/pursue-payments.ts';
import { RefusedFactsError } from '../ledger/payments/record-facts.ts';
import { within } from '../ledger/within.ts';
import type { AccountViews } from '../projections/account-views.ts';
import { tellMoved } from './tell-moved.ts';

interface UpkeepOptions {
  readonly log: EventLog;
  readonly accounts: AccountViews;
  /** Whose accounts are looked after: those of others pay by what their own gateways are configured to. */
  readonly product: string;
  readonly provider: PaymentProvider;
  readonly catalog: () => KnownPlans;
  readonly clock: () => number;
  /** Absent: nothing stands against what is decided. */
  readonly whyNot?: WhyNot;
  /** Whether anything final may be written now: not while the clock is in doubt, or the views are old. */
  readonly mayWrite: () => boolean;
  readonly logger: Logger;
}

/**
 * Looks after accounts that pay by themselves, or have begun to pay: after each of their events whether credits are to be bought
 * (the level counts, so it does not matter which event it was, nor whether one was missed), and now and then what became of what
 * is open. Nothing waits for it. Several gateways may do so on one log: the claim of an attempt is an append.
 *
 * So many accounts at once, however many are due: those that somebody waits for first, then those of which something has come,
 * and what is looked at by the clock alone leaves some of the places to them.
 */
export class PaymentsUpkeep {
  readonly #options: UpkeepOptions;
  readonly #looks: NowAndThen<void>;
  /** What is under way, by account, and whether more has come meanwhile. */
  readonly #underWay = new Map<AccountId, UnderWay>();
  /** For whom there is no place yet. */
  readonly #awaited = new Set<AccountId>();
  readonly #changed = new Set<AccountId>();
  readonly #done = new Set<Promise<void>>();
  /** By account. */
  readonly #unwritten = new Map<AccountId, UnwrittenPayments>();
  #isOver = false;

  constructor(options: UpkeepOptions) {
    this.#options = options;
    this.#looks = new NowAndThen(LIMITS.paymentsLookMs, () => this.#lookAtAll());
    options.accounts.onFolded((accountId) => {
      if (options.accounts.paying.has(accountId)) this.#queue(accountId, this.#changed);
    });
  }

  /** Looks at all of them, and asks what became of what is open. */
  look(): Promise<void> {
    return this.#looks.now();
  }

  /** Somebody waits for what it may buy. */
  lookAt(accountId: AccountId): void {
    this.#queue(accountId, this.#awaited);
  }

  /** Until nothing is under way. */
  async whenIdle(): Promise<void> {
    while (this.#done.size > 0) await Promise.all(this.#done);
  }

  /** Until nothing is under way, or for so long: what hangs goes on. */
  async close(atMostMs: number = LIMITS.shutdownFlushMs): Promise<void> {
    this.#isOver = true;
    try {
      this.#options.provider.close?.();
      await within(
        atMostMs,
        this.#looks.close().then(() => this.whenIdle()),
      );
    } finally {
      this.#tellUnwritten();
    }
  }

  /** Behind all that was found: nobody asks of it by itself any more, where its attempt is open no more. */
  #tellUnwritten(): void {
    for (const [accountId, unwritten] of this.#unwritten)
      for (const attemptId of unwritten.keys())
        this.#options.logger.error(
          { accountId, attemptId },
          `a payment was found to be paid, and what became of its money may not all be written; to write the rest: gateway payment ask ${accountId} ${attemptId}`,
        );
  }

  async #lookAtAll(): Promise<void> {
    const { paymentLooksPerTurn, paymentLooksAtOnceMax } = LIMITS;
    let looks = 0;
    // What was found to be paid keeps nobody among those who pay, once other views have taken the place of these.
    const unwritten = [...this.#unwritten].filter(([, ofIt]) => ofIt.size > 0).map(([accountId]) => accountId);
    for (const accountId of new Set([...this.#options.accounts.paying.ids(), ...unwritten])) {
      if (++looks % paymentLooksPerTurn === 0) await nextTurn();
      while (this.#underWay.size >= paymentLooksAtOnceMax) await Promise.race(this.#done);
      this.#begin(accountId, { asksOpen: true });
    }
    await Promise.all(this.#done);
  }

  #queue(accountId: AccountId, queue: Set<AccountId>): void {
    queue.add(accountId);
    this.#beginQueued();
  }

  #beginQueued(): void {
    for (const queue of [this.#awaited, this.#changed])
      for (const accountId of queue) {
        if (this.#underWay.size >= LIMITS.paymentsAtOnceMax) return;
        queue.delete(accountId);
        this.#begin(accountId, { asksOpen: false });
      }
  }

  #begin(accountId: AccountId, { asksOpen }: { readonly asksOpen: boolean }): void {
    if (this.#isOver || !this.#options.mayWrite()) return;
    const before = this.#underWay.get(accountId);
    if (before !== undefined) {
      before.again = true;
      before.asksOpen ||= asksOpen;
      return;
    }
    const one = { again: false, asksOpen };
    this.#underWay.set(accountId, one);
    // Not in the turn of the fold that has told of it: all of its views have taken the event then.
    const work = Promise.resolve().then(() => this.#pursue(accountId, one));
    const done = work.finally(() => {
      this.#done.delete(done);
    });
    this.#done.add(done);
  }

  async #pursue(accountId: AccountId, one: UnderWay): Promise<void> {
    const { logger } = this.#options;
    const onUnknown = (error: unknown, attemptId: AttemptId): void => {
      const isRefused = error instanceof RefusedFactsError;
      logger[isRefused || error instanceof UnfitAnswerError ? 'error' : 'warn'](
        { err: error, accountId, attemptId },
        isRefused
          ? 'what the payment provider tells of a payment is refused, and the rest is written; unless the payment is open, it is asked of by itself no more'
          : 'what became of a payment could not be found out, or written down; it is asked again',
      );
    };
    const onRefused = ({ attemptId }: PaymentAttempt, reason: string): void =>
      logger.error(
        { accountId, attemptId, reason },
        'the payment provider refuses a payment, as things are: nothing was charged, and another is begun later; gateway doctor looks at its configuration',
      );
    const onMoved = (moved: CreditsMoved): void => tellMoved(logger, accountId, moved);
    const unwritten: UnwrittenPayments = this.#unwritten.get(accountId) ?? new Map();
    this.#unwritten.set(accountId, unwritten);
    try {
      if (!this.#isLookedAfter(accountId)) return;
      do {
        const { asksOpen } = one;
        one.again = false;
        one.asksOpen = false;
        await pursuePayments(accountId, { ...this.#options, asksOpen, onUnknown, onRefused, onMoved, unwritten });
      } while (one.again && !this.#isOver);
    } catch (error) {
      logger.error(
        { err: error, accountId },
        'the payments of an account could not be looked after; it is tried again',
      );
    } finally {
      if (unwritten.size === 0) this.#unwritten.delete(accountId);
      // In one step with the last look at `again`.
      this.#underWay.delete(accountId);
      this.#beginQueued();
    }
  }

  #isLookedAfter(accountId: AccountId): boolean {
    const { accounts, product } = this.#options;
    return accounts.whyAside(accountId) === null && takesMoneyOf(product, accounts.read(accountId).state);
  }
}

interface UnderWay {
  /** Something has come since it was begun. */
  again: boolean;
  asksOpen: boolean;
}
