import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import type { EventLog } from '../contracts/event-log.ts';
import { type AccountId, commandId, uuidV7 } from '../contracts/ids.ts';
import { LIMITS } from '../contracts/limits.ts';
import { executeOnBook } from '../ledger/account/execute-command.ts';
import { isExpired } from '../ledger/account/grants.ts';
import type { AccountViews } from '../projections/account-views.ts';

export interface SweeperOptions {
  readonly log: EventLog;
  readonly accounts: AccountViews;
  readonly clock: () => number;
  readonly logger: Logger;
}

/**
 * Writes down credits that the clock has ended (rule 11). Nothing waits for it: admission and debits compute expiry
 * themselves. Several gateways may sweep the same log: the second one finds nothing left to write.
 */
export class ExpirySweeper {
  readonly #options: SweeperOptions;
  readonly #timer: NodeJS.Timeout;
  #sweeping: Promise<number> | null = null;

  constructor(options: SweeperOptions) {
    this.#options = options;
    this.#timer = setInterval(() => void this.sweep(), LIMITS.expirySweepMs);
  }

  /** Sweeps once and returns how many accounts were written to. Failures are told and tried again next time. */
  sweep(): Promise<number> {
    this.#sweeping ??= this.#sweepDue().finally(() => {
      this.#sweeping = null;
    });
    return this.#sweeping;
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#sweeping;
  }

  async #sweepDue(): Promise<number> {
    const { log, accounts, clock, logger } = this.#options;
    let written = 0;
    for (const accountId of this.#due()) {
      const nowMs = clock();
      const recording = {
        commandId: commandId(uuidV7(nowMs, randomBytes(10))),
        actor: 'expiry sweeper',
        recordedAt: new Date(nowMs).toISOString(),
      };
      try {
        await executeOnBook(log, accounts, accountId, { type: 'ExpireCredits', nowMs }, recording);
        written++;
      } catch (error) {
        logger.error({ err: error, accountId }, 'expired credits were not written down');
      }
    }
    return written;
  }

  #due(): AccountId[] {
    const graceEndMs = this.#options.clock() - LIMITS.expiryGraceMs;
    return [...this.#options.accounts.balance.all()]
      .filter(
        ([, { state }]) =>
          state.type === 'open' && state.grants.some((grant) => grant.remaining > 0n && isExpired(grant, graceEndMs)),
      )
      .map(([accountId]) => accountId)
      .slice(0, LIMITS.expirySweepAccountsMax);
  }
}
