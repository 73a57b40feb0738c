import type { AccountId } from '../../../contracts/ids.ts';
import type { ExceptionsState } from '../../../ledger/account/exceptions-state.ts';
import type { AccountViews } from '../../../projections/account-views.ts';

/** What each account that may have any has of exceptions; of one account where that is said. */
export function* exceptionsByAccount(
  accounts: AccountViews,
  only: AccountId | null,
): Generator<[AccountId, ExceptionsState]> {
  for (const accountId of only === null ? accounts.balance.idsWithExceptions() : [only]) {
    const { state } = accounts.read(accountId);
    if (state.type === 'open') yield [accountId, state.exceptions];
  }
}
