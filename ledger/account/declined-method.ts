import { valuesOf } from './keyed-tree.ts';
import type { PaymentsState } from './payments-state.ts';
import { DAY_MS } from './plan-periods.ts';

/** Networks of cards count what is declined, and take no more of a card for a month once it was too often. */
const DECLINES_MAX = 15;
const WINDOW_MS = 30 * DAY_MS;

/** Why the saved method may be charged no more, in words; null where it may. Whoever asks: one that is saved instead may. */
export function whyNotCharged({ method, attempts }: PaymentsState, atMs: number): string | null {
  if (method === null) return null;
  const declines = valuesOf(attempts)
    .filter(({ state, paymentMethodId }) => state === 'failed' && paymentMethodId === method.paymentMethodId)
    .toArray();
  if (declines.some(({ decline }) => decline === 'for good')) return 'was declined, and would be again';
  const ofLate = declines.filter(({ startedAtMs }) => startedAtMs > atMs - WINDOW_MS);
  return ofLate.length < DECLINES_MAX ? null : `was declined ${ofLate.length} times in 30 days`;
}
