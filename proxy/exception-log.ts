import type { Logger } from 'pino';
import { formatUsd } from '../contracts/money.ts';
import type { AccountBook } from '../ledger/account/account-book.ts';
import { amountOfException, openException, reasonsOf } from '../ledger/account/exceptions.ts';

/** Says in the log that usage has come that could not be debited as it came: somebody has to look at it. */
export function logExceptions(accounts: AccountBook, logger: Logger): void {
  accounts.onFolded((accountId, { type, data }) => {
    const mayArise =
      type === 'LateUsageReported' ||
      (type === 'CreditsDebited' && data.leftOut > 0n) ||
      (type === 'UsageRecorded' && data.unpriced.length > 0);
    if (!mayArise) return;
    const { requestId } = data;
    const { state } = accounts.read(accountId);
    const exception = state.type === 'open' ? openException(state.exceptions, requestId) : undefined;
    if (exception === undefined) return;
    const usd = formatUsd(amountOfException(exception));
    logger.error({ requestId, accountId, usd, why: reasonsOf(exception) }, 'usage that an operator has to decide on');
  });
}
