import { z } from 'zod';
import { attemptIdField, microUsdField, paymentIdField } from '../../contracts/event-fields.ts';

const ms = z.int();

const paymentMethod = z.strictObject({
  provider: z.string(),
  customerId: z.string(),
  paymentMethodId: z.string(),
  brand: z.string(),
  last4: z.string(),
  consentedAtMs: ms,
});

const attempt = z.strictObject({
  attemptId: attemptIdField,
  kind: z.enum(['purchase']),
  provider: z.string(),
  credits: microUsdField,
  price: microUsdField,
  startedAtMs: ms,
  /** One that failed or was abandoned becomes `paid` where the provider turns out to have the money. */
  state: z.enum(['open', 'action required', 'failed', 'abandoned', 'paid']),
  /** Of the provider, once it is known. */
  paymentId: paymentIdField.nullable(),
});
export type PaymentAttempt = z.infer<typeof attempt>;

/** What an account has paid, and is about to pay. */
export const paymentsSchema = z.strictObject({
  /** What may be charged without its owner being there; null is nothing. */
  method: paymentMethod.nullable(),
  attempts: z.record(z.string(), attempt),
});
export type PaymentsState = z.infer<typeof paymentsSchema>;

export const NO_PAYMENTS: PaymentsState = Object.freeze({ method: null, attempts: {} });
