import type { Logger } from 'pino';
import type { EventLog } from '../contracts/event-log.ts';
import { accountOfStream } from '../contracts/ids.ts';
import type { AccountViews } from '../projections/account-views.ts';

/**
 * Sets accounts aside of which the log's server hides or has deleted events: the views still have what those said, and
 * a rebuild would not. Resolves when all that were so by then are.
 */
export async function setHiddenAside(log: EventLog, { setAside }: AccountViews, logger: Logger): Promise<void> {
  await log.followHidden?.((stream, why) => {
    const accountId = accountOfStream(stream);
    if (accountId === null) {
      if (why !== null) logger.error({ stream, why }, 'the event log hides events of the ledger, or has deleted them');
      return;
    }
    setAside.set(accountId, why);
    if (why === null) logger.warn({ accountId }, 'the account is served again: all of its events are there');
    else logger.error({ accountId, why }, 'the account is set aside, and all its requests are refused');
  });
}
