import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Logger } from 'pino';
import { type EventLog, isLogAway } from '../contracts/event-log.ts';
import type { AccountId } from '../contracts/ids.ts';
import { LIMITS } from '../contracts/limits.ts';
import { SYSTEM } from '../contracts/permissions.ts';
import { executeOnRepository } from '../ledger/account/execute-command.ts';
import { isExpired } from '../ledger/account/grants.ts';
import { NowAndThen } from '../ledger/now-and-then.ts';
import { recordingBy } from '../ledger/recording-by.ts';
import type { AccountViews } from '../projections/account-views.ts';
import type { Holds } from './holds.ts';

interface SweeperOptions {
  readonly log: EventLog;
  readonly accounts: AccountViews;
  readonly holds: Pick<Holds, 'ofAccount'>;
  readonly clock: () => number;
  /** How long after their instant credits are written down as expired. */
  readonly lateMs: number;
  /** Whether anything final may be written now: not while the clock is in doubt, or the views are old. */
  readonly mayWrite: () => boolean;
  readonly logger: Logger;
}

/**
 * Writes down credits that the clock has ended, a week late by default, because what is written is for good.
 * Nothing waits for it: admission and debits compute expiry themselves. An account with requests under way is left for
 * another time; those of other proxies are seen by their leases. Several gateways may sweep the same log: the second one
 * finds nothing left to write.
 */
export class ExpirySweeper {
  readonly #options: SweeperOptions;
  readonly #sweeps: NowAndThen<number>;

  constructor(options: SweeperOptions) {
    this.#options = options;
    this.#sweeps = new NowAndThen(LIMITS.expirySweepMs, () => this.#sweepDue());
  }

  /** Sweeps once and returns how many accounts were written to. Failures are told and tried again next time. */
  sweep(): Promise<number> {
    return this.#sweeps.now();
  }

  close(): Promise<void> {
    return this.#sweeps.close();
  }

  async #sweepDue(): Promise<number> {
    const { log, accounts, clock, lateMs, mayWrite, logger } = this.#options;
    let written = 0;
    for (const accountId of await this.#dueOrNone()) {
      // Looked at again each time: an append may have taken long.
      if (!mayWrite() || this.#hasHolds(accountId)) continue;
      const nowMs = clock();
      const recording = recordingBy('expiry sweeper', nowMs);
      try {
        const command = { type: 'ExpireCredits', lateMs, nowMs } as const;
        const result = await executeOnRepository(log, accounts, accountId, command, SYSTEM, recording);
        if (result.type === 'done' && result.position !== null) written++;
      } catch (error) {
        logger.error({ err: error, accountId }, 'expired credits were not written down');
        // What one cannot write then, others cannot: the next sweep looks at all of them.
        if (isLogAway(error)) break;
      }
    }
    return written;
  }

  /** A row of the views' file that cannot be read has stopped the views by then, and they end the gateway in order. */
  async #dueOrNone(): Promise<AccountId[]> {
    try {
      return await this.#dueAccounts();
    } catch (error) {
      this.#options.logger.error({ err: error }, 'whose credits have expired could not be looked up');
      return [];
    }
  }

  async #dueAccounts(): Promise<AccountId[]> {
    if (!this.#options.mayWrite()) return [];
    const { expirySweepAccountsMax, expiryLooksPerTurn } = LIMITS;
    const dueMs = this.#options.clock() - this.#options.lateMs;
    await this.#loadDue(dueMs);
    const due: AccountId[] = [];
    let looks = 0;
    for (const [accountId, { grants }] of this.#options.accounts.balance.loaded()) {
      if (++looks % expiryLooksPerTurn === 0) await nextTurn();
      const isDue = grants.some((grant) => grant.remaining > 0n && isExpired(grant, dueMs));
      if (!isDue || this.#options.accounts.whyAside(accountId) !== null || this.#hasHolds(accountId)) continue;
      due.push(accountId);
      if (due.length === expirySweepAccountsMax) break;
    }
    return due;
  }

  /** In slices: of many whose credits end in one hour all are brought at once, and requests go on meanwhile. */
  async #loadDue(dueMs: number): Promise<void> {
    const { expirySweepAccountsMax, expiryLoadsPerTurn } = LIMITS;
    for (let slices = Math.ceil(expirySweepAccountsMax / expiryLoadsPerTurn); slices > 0; slices--) {
      if (this.#options.accounts.balance.loadExpiring(dueMs, expiryLoadsPerTurn) < expiryLoadsPerTurn) return;
      await nextTurn();
    }
  }

  #hasHolds(accountId: AccountId): boolean {
    return this.#options.holds.ofAccount(accountId) > 0n;
  }
}
