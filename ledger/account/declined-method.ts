import type { OpenAccount } from './account-state.ts';
import { type CommandRefusal, commandRefused } from './commands.ts';
import { grantsOfPaid } from './grant-id.ts';
import { valuesOf } from './keyed-tree.ts';
import { methodOf, type PaymentAttempt, type PaymentsState } from './payments-state.ts';
import { DAY_MS } from './plan-periods.ts';
import { saveMethodCommand } from './save-method-command.ts';

/** Networks of cards count what is declined, and take no more of a card for a month once it was too often. */
const DECLINES_MAX = 15;
const WINDOW_MS = 30 * DAY_MS;

/** What is asked for, and charged to a saved method that was declined so, is not begun; what begins by itself is tried again by bounds of its own, and no more after so many. */
export function refuseDeclined(state: OpenAccount, atMs: number): CommandRefusal | null {
  const { method } = state.billing.payments;
  const why = method === null ? null : whyDeclined(state, method.paymentMethodId, atMs);
  if (method === null || why === null) return null;
  return commandRefused(
    'payment_method_declined',
    `the saved payment method, ${method.brand} ending in ${method.last4}, ${why}: save another one (${saveMethodCommand(state.accountId, method.provider).join(' ')})`,
  );
}

/** In words; null where it may be charged: also where it was declined for good, and has paid since that was begun. */
function whyDeclined(state: OpenAccount, id: string, atMs: number): string | null {
  const { grants, billing } = state;
  const charged = chargedTo(billing.payments, id);
  const declines = charged.filter(isDeclined);
  const bought = grantsOfPaid(state, charged);
  // What waited for its payer, or for its provider, was begun long before it was paid.
  const hasPaidSince = (sinceMs: number): boolean =>
    grants.some(({ grantId, effectiveAtMs }) => effectiveAtMs > sinceMs && bought.has(grantId));
  if (declines.some(({ decline, startedAtMs }) => decline === 'for good' && !hasPaidSince(startedAtMs)))
    return 'was declined, and would be again';
  // Also what may have been another's, that was saved meanwhile: cards in turns would be charged without an end.
  const ofLate = declines.filter((one) => isOfLate(one, atMs));
  return ofLate.length < DECLINES_MAX ? null : `was declined ${ofLate.length} times in 30 days`;
}

/** Whether an attempt that is declined now, and is open still, is one too often: by itself no other is begun with its method then, also where that has paid between. */
export function isLastDecline(payments: PaymentsState, attempt: PaymentAttempt, atMs: number): boolean {
  const id = methodOf(attempt);
  if (id === null || id === '') return false;
  const declines = [...chargedTo(payments, id).filter(isDeclined), attempt];
  return declines.filter((one) => isOfLate(one, atMs)).length >= DECLINES_MAX;
}

const chargedTo = ({ attempts }: PaymentsState, id: string): PaymentAttempt[] =>
  valuesOf(attempts)
    .filter((one) => methodOf(one) === id)
    .toArray();

const isDeclined = ({ state }: PaymentAttempt): boolean => state === 'failed';

const isOfLate = ({ startedAtMs }: PaymentAttempt, atMs: number): boolean => startedAtMs > atMs - WINDOW_MS;
