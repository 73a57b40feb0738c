import type { Logger } from 'pino';
import { type EventLog, HiddenStreamError } from '../contracts/event-log.ts';
import { accountOfStream, accountStream } from '../contracts/ids.ts';
import type { Projections } from '../projections/projections.ts';

/**
 * Sets accounts aside of which the log's server hides or has deleted events: the views still have what those said, and
 * a rebuild would not. Those that an earlier run, or a read, has found are asked about, too. Resolves when all that were so
 * by then are.
 */
export async function setHiddenAside(
  log: EventLog,
  projections: Pick<Projections, 'accounts' | 'readAgain'>,
  logger: Logger,
): Promise<void> {
  const { setAside } = projections.accounts;
  const known = () => setAside.accountsOf('hidden').map(accountStream);
  await log.followHidden?.((stream, why) => {
    const accountId = accountOfStream(stream);
    if (accountId === null) {
      if (why !== null) logger.error({ stream, why }, 'the event log hides events of the ledger, or has deleted them');
      return;
    }
    if (why !== null) setAside.put(accountId, new HiddenStreamError(stream, why));
    else {
      setAside.takeBack(accountId, 'hidden');
      projections.readAgain(accountId).catch((error: unknown) => {
        logger.warn({ err: error, accountId }, 'the account was not read again; the next start does');
      });
    }
  }, known);
}
