import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Logger } from 'pino';
import { type EventLog, EventLogError } from '../contracts/event-log.ts';
import type { AccountId } from '../contracts/ids.ts';
import { LIMITS } from '../contracts/limits.ts';
import { someEndBy } from '../ledger/account/grants.ts';
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

interface Sweep {
  closed: number;
  /** Of which something was closed, or that failed: those with nothing to close cost a look, and keep no others waiting. */
  accounts: number;
  readonly heldUp: HeldUpAccount[];
}

/** So many are named. */
const TOLD_MAX = 5;

/**
 * Closes the months of accounts a stated time after their end. Only accounts of which something was written down since
 * their last statement, or whose credits have ended, are looked at, and of each month once. Several gateways may close on the same log: each month is closed
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

  /** The first look, for a gateway may never run as long as it is to the next; nothing waits for it. */
  start(): void {
    void this.closeDue();
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
    const sweep: Sweep = { closed: 0, accounts: 0, heldUp: [] };
    for (const accountId of accounts.unclosed.upTo(month)) {
      if (this.#isOver || !mayWrite() || sweep.accounts >= LIMITS.statementAccountsMax) break;
      // What one cannot write now, others cannot.
      if (!(await this.#closeOf(accountId, month, sweep))) break;
      await nextTurn();
    }
    const { closed, heldUp } = sweep;
    if (heldUp.length > 0)
      logger.error(
        { accounts: heldUp.slice(0, TOLD_MAX), count: heldUp.length },
        'statements that are due are not closed',
      );
    return closed;
  }

  /** False where the log does not take it. */
  async #closeOf(accountId: AccountId, month: string, sweep: Sweep): Promise<boolean> {
    const { log, accounts, holds, clock, graceMs, mayWrite, logger } = this.#options;
    if (accounts.whyAside(accountId) !== null) return true;
    // A later request is of a later month, and burns nothing that ended with this one: a busy account is never without any.
    for (const hold of holds.each(accountId))
      if (hold.amount > 0n && hold.firstStartMs < endOfMonthMs(month)) return true;
    try {
      const snapshot = accounts.balance.glance(accountId);
      if (this.#rests(accountId, snapshot, month)) return true;
      const terms = { graceMs, nowMs: clock(), actor: 'statement closer', mayWrite };
      const outcome = await closeStatements(log, accountId, snapshot, terms);
      if (outcome.isDone) accounts.unclosed.looked(accountId, month);
      if (outcome.heldUp !== null) sweep.heldUp.push({ accountId, ...outcome.heldUp });
      if (outcome.closed > 0) sweep.accounts++;
      sweep.closed += outcome.closed;
      return true;
    } catch (error) {
      sweep.accounts++;
      logger.error({ err: error, accountId }, 'a statement was not closed');
      return !(error instanceof EventLogError);
    }
  }

  /** Whether there is nothing to close. It is looked at again as soon as something comes behind its statement, or its credits have ended. */
  #rests(accountId: AccountId, snapshot: AccountSnapshot, month: string): boolean {
    const { unclosed } = this.#options.accounts;
    const { state } = snapshot;
    const grants = state.type === 'open' ? state.grants : [];
    const isIdle = !someEndBy(grants, month) && !hasUncounted(snapshot);
    const isClosed = state.type === 'open' && (state.billing.statement?.month ?? '') >= month;
    if (isIdle) unclosed.forget(accountId, grants);
    else if (isClosed) unclosed.looked(accountId, month);
    return isIdle || isClosed;
  }
}
