import { z } from 'zod';
import { text } from './bounded-length.ts';
import { attemptIdField, instantField, microUsdField, paymentIdField } from './event-fields.ts';

/** Why somebody has written it down by hand; null where its provider tells it, or it was not asked for. Who it was the metadata say. */
const reason = text.nullable();

/**
 * Payments of an account. An attempt is begun by an event before money moves, which is the claim, and ends by one: it was paid,
 * failed, or never charged. Amounts of money are micro-USD, like credits.
 */
export const paymentEvents = {
  /** What may be charged without its owner being there, and since when they consent to that. */
  PaymentMethodSaved: z.strictObject({
    provider: text,
    customerId: text,
    paymentMethodId: text,
    brand: text,
    last4: z.string().regex(/^.{4}$/s),
    consentedAt: instantField,
    by: text,
  }),
  PaymentMethodRemoved: z.strictObject({ provider: text, paymentMethodId: text, removedAt: instantField, by: text }),
  /** Somebody is about to pay: so much credit for this price. */
  PurchaseStarted: z.strictObject({
    attemptId: attemptIdField,
    provider: text,
    /** Credits. */
    amount: microUsdField,
    price: microUsdField,
    by: text,
    startedAt: instantField,
  }),
  /** The provider has the money; the grant of its credits follows in the same append. Also after a failure was written down. */
  PaymentSucceeded: z.strictObject({
    attemptId: attemptIdField,
    provider: text,
    paymentId: paymentIdField,
    /** What was paid. */
    amount: microUsdField,
    paidAt: instantField,
  }),
  PaymentFailed: z.strictObject({
    attemptId: attemptIdField,
    /** The provider's own word for why. */
    code: text,
    /** The same payment method will never do. */
    isTerminal: z.boolean(),
    failedAt: instantField,
    /** When another attempt may be made by itself; null is never. */
    nextAttemptAt: instantField.nullable(),
    /** The payment method that was declined, where that is another than the one with which the attempt was begun. */
    declinedMethodId: text.optional(),
  }),
  /** Whoever pays has to do something with their bank. The attempt stays open. */
  PaymentActionRequired: z.strictObject({ attemptId: attemptIdField, paymentId: paymentIdField, at: instantField }),
  /** The attempt is over and has provably charged nothing. */
  PaymentAbandoned: z.strictObject({
    attemptId: attemptIdField,
    reason: text,
    at: instantField,
    /** An operator has ended it, which is a no as a decline is; null where it is not said: it is one with who takes money by hand alone. */
    endedBy: z.literal('operator').nullable(),
  }),
  /** Of the money that was paid so much went back. What of its credits goes with it is revoked in the same append. */
  PaymentRefunded: z.strictObject({
    paymentId: paymentIdField,
    refundId: text,
    amount: microUsdField,
    refundedAt: instantField,
    reason,
  }),
  /** That so much went back was a mistake of who wrote it down, or has failed at its provider: it did not. What it had taken of credits is restored in the same append. */
  RefundWithdrawn: z.strictObject({
    paymentId: paymentIdField,
    refundId: text,
    /** All of the refund. */
    amount: microUsdField,
    withdrawnAt: instantField,
    reason: text,
  }),
  /** The bank has taken the money back, until it is decided whose it is; its credits as with a refund. */
  PaymentDisputed: z.strictObject({
    paymentId: paymentIdField,
    disputeId: text,
    amount: microUsdField,
    openedAt: instantField,
    reason,
  }),
  /** What a dispute that was won had taken is restored in the same append; of one that is lost after all it is revoked anew. */
  DisputeClosed: z.strictObject({
    paymentId: paymentIdField,
    disputeId: text,
    outcome: z.enum(['won', 'lost']),
    /** How it was said to have ended before, which was a mistake, or is so no more; null where it was open. */
    replaces: z.enum(['won', 'lost']).nullable(),
    closedAt: instantField,
    reason,
  }),
} as const;
