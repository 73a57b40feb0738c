import type { OpenAccount } from '../../../ledger/account/account-state.ts';
import type { PaymentAttempt } from '../../../ledger/account/payments-state.ts';
import { isReturned } from '../../../ledger/account/returned-plan.ts';
import { paidAgainInWords, paidBackInWords, type ShownTo } from '../accounts/plan-in-words.ts';

interface Became extends Pick<ShownTo, 'nowMs' | 'endsNow'> {
  readonly before: OpenAccount;
  readonly after: OpenAccount;
}

/** What became of the account's plan as money of a payment went back, or is here again; null where nothing did. */
export function planAfter(
  attempt: Pick<PaymentAttempt, 'period'> | undefined,
  { before, after, ...shownTo }: Became,
): string | null {
  const period = after.billing.plan?.period ?? null;
  if (period === null || attempt?.period?.endMs !== period.endMs) return null;
  if (isReturned(after)) return paidBackInWords(after, shownTo);
  return isReturned(before) ? paidAgainInWords(after) : null;
}
