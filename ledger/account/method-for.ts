import type { OpenAccount } from './account-state.ts';
import { attemptOf } from './payments.ts';
import { isOpen, type PaymentAttempt, type PaymentsState } from './payments-state.ts';
import { isAwaited } from './plans.ts';
import { isConsented } from './reload.ts';

/**
 * What may be charged for an attempt now, without its owner being there. Null where nothing is, or where the attempt is not
 * wanted any more: what was charged for it before is found all the same, and what was not never is.
 */
export const methodFor = (state: OpenAccount, attempt: PaymentAttempt): PaymentsState['method'] =>
  isWanted(state, attempt) ? state.billing.payments.method : null;

const isWanted = ({ suspended, billing }: OpenAccount, attempt: PaymentAttempt): boolean =>
  suspended === null &&
  isOpen(attemptOf(billing.payments, attempt.attemptId) ?? attempt) &&
  !isWithdrawn(billing, attempt) &&
  (attempt.kind !== 'reload' || billing.payments.reload?.paused === null);

/** Whether what it was claimed for is gone: the plan's period, or the consent, or something else was asked for since. It is to be ended then, and a suspended one waits. */
export function isWithdrawn(billing: OpenAccount['billing'], attempt: PaymentAttempt): boolean {
  if (attempt.kind === 'purchase') return false;
  if (attempt.kind !== 'reload') return !isAwaited(billing, attempt);
  return !isConsented(billing.payments.reload, attempt);
}
