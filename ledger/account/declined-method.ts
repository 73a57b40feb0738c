import type { OpenAccount } from './account-state.ts';
import { type CommandRefusal, commandRefused } from './commands.ts';
import { valuesOf } from './keyed-tree.ts';
import type { PaymentsState } from './payments-state.ts';
import { DAY_MS } from './plan-periods.ts';

/** Networks of cards count what is declined, and take no more of a card for a month once it was too often. */
const DECLINES_MAX = 15;
const WINDOW_MS = 30 * DAY_MS;

/** What is asked for, and charged to a saved method that was declined so, is not begun; what begins by itself has bounds of its own. */
export function refuseDeclined({ accountId, billing }: OpenAccount, atMs: number): CommandRefusal | null {
  const { method } = billing.payments;
  const why = method === null ? null : whyDeclined(billing.payments, method.paymentMethodId, atMs);
  if (method === null || why === null) return null;
  return commandRefused(
    'payment_method_declined',
    `the saved payment method, ${method.brand} ending in ${method.last4}, ${why}: save another one (gateway payment save-method ${accountId})`,
  );
}

/** In words; null where it may be charged: also where it was declined for good, and has paid for what was begun since. */
function whyDeclined({ attempts }: PaymentsState, id: string, atMs: number): string | null {
  const charged = [...valuesOf(attempts)].filter(({ paymentMethodId }) => paymentMethodId === id);
  const declines = charged.filter(({ state, decline }) => state === 'failed' && decline !== null);
  const hasPaidSince = (sinceMs: number): boolean =>
    charged.some(({ state, startedAtMs }) => state === 'paid' && startedAtMs > sinceMs);
  if (declines.some(({ decline, startedAtMs }) => decline === 'for good' && !hasPaidSince(startedAtMs)))
    return 'was declined, and would be again';
  const ofLate = declines.filter(({ startedAtMs }) => startedAtMs > atMs - WINDOW_MS);
  return ofLate.length < DECLINES_MAX ? null : `was declined ${ofLate.length} times in 30 days`;
}
