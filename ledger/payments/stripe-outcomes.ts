import type { MicroUsd } from '../../contracts/money.ts';
import { type AskedPayment, type PaymentOutcome, UnfitAnswerError } from './payment-provider.ts';
import { CENT, type Intent, type Session } from './stripe-answers.ts';

/** Less than that it does not charge. */
const LEAST_CENTS = 50n;

/** Null where Stripe cannot charge so much. */
export function centsOf(price: MicroUsd): number | null {
  const cents = price / CENT;
  return price % CENT === 0n && cents >= LEAST_CENTS && cents <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(cents) : null;
}

/** A payment as it is now. What nobody decides any more is the caller's to cancel. @throws UnfitAnswerError */
export function outcomeOfIntent(intent: Intent): PaymentOutcome {
  const { status, last_payment_error: error } = intent;
  switch (status) {
    case 'succeeded':
      return paid(intent);
    case 'canceled':
      return {
        ...{ type: 'abandoned', reason: `cancelled at Stripe (${whyCancelled(intent)})` },
        ...(intent.cancellation_reason === BY_OPERATOR ? { endedBy: 'operator' } : {}),
      };
    case 'requires_action':
      return { type: 'action required', paymentId: intent.id };
    case 'requires_payment_method':
      return error ? declined(error) : WAITS;
    case 'processing':
    case 'requires_capture':
    case 'requires_confirmation':
      return WAITS;
    default:
      status satisfies never;
      throw new Error('a payment of Stripe’s is in none of its states');
  }
}

/**
 * The same of what charges a saved card: a ledger that was put back may have begun with another one what was declined before, and is told
 * which card that was, while the one that it was begun with is saved.
 */
export function outcomeOfCharge(
  intent: Intent,
  { attempt, saved }: Pick<AskedPayment, 'attempt' | 'saved'>,
): PaymentOutcome {
  const outcome = outcomeOfIntent(intent);
  const charged = intent.last_payment_error?.payment_method ?? intent.payment_method ?? null;
  const blamed = saved()?.paymentMethodId === attempt.paymentMethodId ? attempt.paymentMethodId : null;
  const isOfAnother = charged !== null && blamed !== null && charged !== blamed;
  return outcome.type === 'failed' && isOfAnother ? { ...outcome, declinedMethodId: charged } : outcome;
}

/** As what an operator ends is cancelled, here or by hand at Stripe: which says it to whoever asks. */
export const BY_OPERATOR = 'requested_by_customer';

/** It stands in an event for ever, and in statements. */
const whyCancelled = ({ cancellation_reason: why }: Intent): string => {
  if (why === null || why === undefined) return 'no reason';
  return CANCELLATION_REASONS.has(why) ? why : 'other';
};

/** Those that Stripe documents, but for `fraudulent`: who is suspected of it is not to learn so. */
const CANCELLATION_REASONS: ReadonlySet<string> = new Set([
  ...['abandoned', 'automatic', 'duplicate', 'expired', 'failed_invoice', 'requested_by_customer', 'void_invoice'],
]);

const WAITS: PaymentOutcome = { type: 'waits', url: null };

/** A page on which somebody pays; a declined card is theirs to replace until the page is over. @throws UnfitAnswerError */
export function outcomeOfSession({ payment_intent: intent, status, url }: Session): PaymentOutcome {
  if (status === 'open') return { type: 'waits', url: url ?? null };
  if (!intent) {
    if (status === 'expired') return EXPIRED;
    throw new UnfitAnswerError('Stripe names no payment of a Checkout session that is complete');
  }
  const outcome = outcomeOfIntent(intent);
  // It has tried in vain, and nobody tries again.
  return status === 'expired' && outcome.type !== 'paid' && intent.status !== 'processing' ? EXPIRED : outcome;
}

const EXPIRED: PaymentOutcome = { type: 'abandoned', reason: 'the Checkout session expired' };

type Declined = Omit<NonNullable<Intent['last_payment_error']>, 'payment_method'>;

/** Also an error of a request. */
export function declined({
  code,
  decline_code: declineCode,
  advice_code: advice,
}: Declined): Extract<PaymentOutcome, { type: 'failed' }> {
  // Of a bank that wants its customer to be there that is said by the one, of other declines by the other.
  const word = code === 'authentication_required' ? code : (declineCode ?? code ?? 'declined');
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

/** When it was made is when its charge was: it may have been begun long before, and its credits are of that month. @throws UnfitAnswerError */
function paid({ id, amount_received: amount, latest_charge: charge }: Intent): PaymentOutcome {
  if (!charge) throw new UnfitAnswerError('Stripe says of a payment that it was made, and names no charge of it');
  return { type: 'paid', paymentId: id, amount, paidAtMs: charge.created };
}
