import type { AccountId } from '../../../contracts/ids.ts';
import type { ExceptionsState } from '../../../ledger/account/exceptions-state.ts';
import type { AccountViews } from '../../../projections/account-views.ts';

/** What each open account has of exceptions; of one account where that is said. */
export function* exceptionsByAccount(
  accounts: AccountViews,
  only: AccountId | null,
): Generator<[AccountId, ExceptionsState]> {
  for (const [accountId, { state }] of accounts.balance.all())
    if (state.type === 'open' && (only === null || only === accountId)) yield [accountId, state.exceptions];
}
