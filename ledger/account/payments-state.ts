import { z } from 'zod';
import { attemptIdField, microUsdField, paymentIdField } from '../../contracts/event-fields.ts';
import { paidPeriodSchema } from './plan-state.ts';

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
  kind: z.enum(['purchase', 'reload', 'renewal', 'upgrade']),
  provider: z.string(),
  credits: microUsdField,
  price: microUsdField,
  startedAtMs: ms,
  /** One that failed or was abandoned becomes `paid` where the provider turns out to have the money. */
  state: z.enum(['open', 'action required', 'failed', 'abandoned', 'paid']),
  /** What of a plan it pays for; null where it is credit alone. */
  period: paidPeriodSchema.nullable(),
  /** Of the provider, once it is known. */
  paymentId: paymentIdField.nullable(),
  refunds: z.array(z.strictObject({ refundId: z.string(), amount: microUsdField })),
  disputes: z.array(
    z.strictObject({ disputeId: z.string(), amount: microUsdField, outcome: z.enum(['won', 'lost']).nullable() }),
  ),
});
export type PaymentAttempt = z.infer<typeof attempt>;

const reload = z.strictObject({
  threshold: microUsdField,
  target: microUsdField,
  monthlyCap: microUsdField,
  /** Null is off. */
  consentedAtMs: ms.nullable(),
  /** Of attempts, one after another. */
  declines: z.int(),
  /** No attempt before; null is any time. */
  nextAttemptAtMs: ms.nullable(),
  /** Why; null where it is not. */
  paused: z.string().nullable(),
  /** Why none was begun last, where that is still so. */
  skipped: z.string().nullable(),
});
export type ReloadState = z.infer<typeof reload>;

/** What an account has paid, and is about to pay. */
export const paymentsSchema = z.strictObject({
  /** What may be charged without its owner being there; null is nothing. */
  method: paymentMethod.nullable(),
  /** When the last one was removed: a consent of before is none any more, however often it is told. Null is never. */
  methodRemovedAtMs: ms.nullable(),
  attempts: z.record(z.string(), attempt),
  /** Null where it was never configured. */
  reload: reload.nullable(),
});
export type PaymentsState = z.infer<typeof paymentsSchema>;

export const NO_PAYMENTS: PaymentsState = Object.freeze({
  ...{ method: null, methodRemovedAtMs: null, attempts: {}, reload: null },
});
