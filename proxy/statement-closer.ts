import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Logger } from 'pino';
import { type EventLog, EventLogError } from '../contracts/event-log.ts';
import type { AccountId } from '../contracts/ids.ts';
import { LIMITS } from '../contracts/limits.ts';
import type { AccountSnapshot } from '../ledger/account/load-account.ts';
import { endOfMonthMs, lastMonthOver } from '../ledger/account/month.ts';
import { NowAndThen } from '../ledger/now-and-then.ts';
import { closeStatements, type HeldUp } from '../ledger/statement/close-statements.ts';
import type { AccountViews } from '../projections/account-views.ts';
import { hasUncounted } from '../projections/unclosed-accounts.ts';
import type { Holds } from './holds.ts';

interface CloserOptions {
  readonly log: EventLog;
  readonly accounts: AccountViews;
  readonly holds: Pick<Holds, 'each'>;
  readonly clock: () => number;
  /** How long after its end a month is closed. */
  readonly graceMs: number;
  /** Whether anything final may be written now: not while the clock is in doubt, or the views are old. */
  readonly mayWrite: () => boolean;
  readonly logger: Logger;
}

interface HeldUpAccount extends HeldUp {
  readonly accountId: AccountId;
}

/** So many are named. */
const TOLD_MAX = 5;

/**
 * Closes the months of accounts a stated time after their end. Only accounts of which something was written down since
 * their last statement are looked at, and of each month once. Several gateways may close on the same log: each month is closed
 * once, by whoever appends first.
 */
export class StatementCloser {
  readonly #options: CloserOptions;
  readonly #closings: NowAndThen<number>;
  #isOver = false;

  constructor(options: CloserOptions) {
    this.#options = options;
    this.#closings = new NowAndThen(LIMITS.statementSweepMs, () => this.#closeDue());
  }

  /** Once; returns how many statements were closed. Failures are told and tried again next time. */
  closeDue(): Promise<number> {
    return this.#closings.now();
  }

  async close(): Promise<void> {
    this.#isOver = true;
    await this.#closings.close();
  }

  async #closeDue(): Promise<number> {
    const { accounts, clock, graceMs, mayWrite, logger } = this.#options;
    const month = lastMonthOver(clock() - graceMs);
    const due = [...accounts.unclosed.upTo(month).take(LIMITS.statementAccountsMax)];
    const heldUp: HeldUpAccount[] = [];
    let closed = 0;
    for (const accountId of due) {
      if (this.#isOver || !mayWrite()) break;
      const count = await this.#closeOf(accountId, month, heldUp);
      // What one cannot write now, others cannot.
      if (count === null) break;
      closed += count;
      await nextTurn();
    }
    if (heldUp.length > 0)
      logger.error(
        { accounts: heldUp.slice(0, TOLD_MAX), count: heldUp.length },
        'statements that are due are not closed',
      );
    return closed;
  }

  /** Null where the log does not take it. */
  async #closeOf(accountId: AccountId, month: string, heldUp: HeldUpAccount[]): Promise<number | null> {
    const { log, accounts, holds, clock, graceMs, mayWrite, logger } = this.#options;
    if (accounts.whyAside(accountId) !== null) return 0;
    // A later request is of a later month, and burns nothing that ended with this one: a busy account is never without any.
    for (const hold of holds.each(accountId)) if (hold.amount > 0n && hold.firstStartMs < endOfMonthMs(month)) return 0;
    try {
      const snapshot = accounts.read(accountId);
      if (this.#rests(accountId, snapshot, month)) return 0;
      const terms = { graceMs, nowMs: clock(), actor: 'statement closer', mayWrite };
      const outcome = await closeStatements(log, accountId, snapshot, terms);
      if (outcome.isDone) accounts.unclosed.looked(accountId, month);
      if (outcome.heldUp !== null) heldUp.push({ accountId, ...outcome.heldUp });
      return outcome.closed;
    } catch (error) {
      logger.error({ err: error, accountId }, 'a statement was not closed');
      return error instanceof EventLogError ? null : 0;
    }
  }

  /** Whether there is nothing to close. It is looked at again as soon as something comes behind its statement. */
  #rests(accountId: AccountId, snapshot: AccountSnapshot, month: string): boolean {
    const { unclosed } = this.#options.accounts;
    const { state } = snapshot;
    const isIdle = !hasUncounted(snapshot);
    const isClosed = state.type === 'open' && (state.billing.statement?.month ?? '') >= month;
    if (isIdle) unclosed.forget(accountId);
    else if (isClosed) unclosed.looked(accountId, month);
    return isIdle || isClosed;
  }
}
