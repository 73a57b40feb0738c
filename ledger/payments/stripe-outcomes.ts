import type Stripe from 'stripe';
import { type PaymentId, paymentId } from '../../contracts/ids.ts';
import { type MicroUsd, microUsd } from '../../contracts/money.ts';
import type { PaymentOutcome } from './payment-provider.ts';
import { wordOf } from './stripe-client.ts';

/** Stripe counts cents. */
const CENT = 10_000n;
/** Less than that it does not charge. */
const LEAST_CENTS = 50n;

/** Null where Stripe cannot charge so much. */
export function centsOf(price: MicroUsd): number | null {
  const cents = price / CENT;
  return price % CENT === 0n && cents >= LEAST_CENTS && cents <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(cents) : null;
}

/** @throws Error where it is no amount in USD */
export function amountOf({ amount, currency }: { readonly amount: number; readonly currency: string }): MicroUsd {
  if (currency !== 'usd' || !Number.isSafeInteger(amount)) throw new Error('Stripe names an amount that is not in USD');
  return microUsd(BigInt(amount) * CENT);
}

export const msOf = (seconds: number): number => seconds * 1_000;

/** A payment as it is now. What nobody decides any more is the caller's to cancel. */
export function outcomeOfIntent(intent: Stripe.PaymentIntent): PaymentOutcome {
  const { status, last_payment_error: error } = intent;
  switch (status) {
    case 'succeeded':
      return paid(intent);
    case 'canceled':
      return {
        type: 'abandoned',
        reason: `cancelled at Stripe (${wordOf(intent.cancellation_reason) ?? 'no reason'})`,
      };
    case 'requires_action':
      return { type: 'action required', paymentId: idOf(intent) };
    case 'requires_payment_method':
      return error === null ? WAITS : declined(error);
    default:
      return WAITS;
  }
}

const WAITS: PaymentOutcome = { type: 'waits', url: null };

/** A page on which somebody pays; a declined card is theirs to replace until the page is over. */
export function outcomeOfSession(session: Stripe.Checkout.Session): PaymentOutcome {
  const { payment_intent: intent } = session;
  if (session.status === 'open') return { type: 'waits', url: session.url };
  if (intent === null || typeof intent === 'string') {
    if (session.status === 'expired') return { type: 'abandoned', reason: 'the Checkout session expired' };
    throw new Error('Stripe names no payment of a Checkout session that is complete');
  }
  const outcome = outcomeOfIntent(intent);
  // It has tried in vain, and nobody tries again.
  if (session.status === 'expired' && outcome.type !== 'paid' && intent.status !== 'processing')
    return { type: 'abandoned', reason: 'the Checkout session expired' };
  return outcome;
}

/** Also an error of a request. */
export function declined({
  code,
  decline_code: declineCode,
  advice_code: advice,
}: Pick<Stripe.PaymentIntent.LastPaymentError, 'code' | 'decline_code' | 'advice_code'>): PaymentOutcome {
  // Of a bank that wants its customer to be there that is said by the one, of other declines by the other.
  const word = code === 'authentication_required' ? code : (wordOf(declineCode) ?? wordOf(code) ?? 'declined');
  return { type: 'failed', code: word, isTerminal: TERMINAL.has(word) || advice === 'do_not_try_again' };
}

/** With the same card there is no use in another attempt: nobody is there, the card is gone, or the bank wants none. */
const TERMINAL: ReadonlySet<string> = new Set([
  'authentication_required',
  'lost_card',
  'stolen_card',
  'pickup_card',
  'fraudulent',
  'expired_card',
  'invalid_account',
  'revocation_of_authorization',
  'revocation_of_all_authorizations',
  'stop_payment_order',
  'resource_missing',
]);

function paid(intent: Stripe.PaymentIntent): PaymentOutcome {
  const { latest_charge: charge, amount_received: amount, currency } = intent;
  const paidAt = charge === null || typeof charge === 'string' ? intent.created : charge.created;
  return {
    type: 'paid',
    paymentId: idOf(intent),
    amount: amountOf({ amount, currency }),
    paidAtMs: msOf(paidAt),
  };
}

/** It stands in events, and in the id of the grant. @throws Error */
export function idOf({ id }: { readonly id: string }): PaymentId {
  const word = wordOf(id);
  if (word === null) throw new Error('Stripe names a payment by what is no name');
  return paymentId(word);
}
