import type { OpenAccount } from './account-state.ts';
import type { PaymentAttempt, PaymentsState } from './payments-state.ts';
import { isAwaited } from './plans.ts';

/**
 * What may be charged for an attempt now, without its owner being there. Null where nothing is, or where the attempt is not
 * wanted any more: what was charged for it before is found all the same, and what was not never is.
 */
export const methodFor = (state: OpenAccount, attempt: PaymentAttempt): PaymentsState['method'] =>
  isWanted(state, attempt) ? state.billing.payments.method : null;

/** What became of the plan, of the consent and of the account since the attempt was claimed. */
function isWanted({ suspended, billing }: OpenAccount, attempt: PaymentAttempt): boolean {
  if (suspended !== null) return false;
  if (attempt.kind !== 'reload') return attempt.kind === 'purchase' || isAwaited(billing, attempt);
  const { reload } = billing.payments;
  return reload?.paused === null && reload.consentedAtMs !== null;
}
