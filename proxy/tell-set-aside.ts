import type { Logger } from 'pino';
import type { AccountsSetAside } from '../projections/accounts-set-aside.ts';

/** Says in the log whose requests are refused because their events cannot be relied on, also what an earlier run has found. */
export function tellSetAside(setAside: AccountsSetAside, logger: Logger): void {
  setAside.onChanged((accountId, why) => {
    if (why === null) logger.warn({ accountId }, 'the account is served again: all of its events are there');
    else logger.error({ accountId, why }, 'the account is set aside, and all its requests are refused');
  });
}
