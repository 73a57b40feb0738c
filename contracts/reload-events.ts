import { z } from 'zod';
import { text } from './bounded-length.ts';
import { attemptIdField, instantField, microUsdField } from './event-fields.ts';

/** Credits that are bought by themselves where few are left, for an owner who has consented to that. */
export const reloadEvents = {
  AutoReloadConfigured: z.strictObject({
    /** With so much left, or less, as much is bought as brings it to the target. */
    threshold: microUsdField,
    target: microUsdField,
    /** The most of a calendar month (UTC), of what was paid and of what may still be. */
    monthlyCap: microUsdField,
    /** Null is off. */
    consentedAt: instantField.nullable(),
    by: text,
  }),
  /** The claim: the provider is asked once it stands here, under the attempt's own key. */
  AutoReloadStarted: z.strictObject({
    attemptId: attemptIdField,
    provider: text,
    amount: microUsdField,
    price: microUsdField,
    /** What could be spent when it was decided; less than nothing is owed, and is 0 here. */
    balance: microUsdField,
    /** Of attempts that were open. */
    pending: microUsdField,
    /** Of the month before this one: paid, and open. */
    monthTotal: microUsdField,
    startedAt: instantField,
  }),
  /** Few credits are left, and none are bought. Written where the reason is another than before. */
  AutoReloadSkipped: z.strictObject({
    reason: z.enum(['disabled', 'paused', 'pending', 'backoff', 'cap', 'no_payment_method', 'suspended']),
    at: instantField,
  }),
  /** None are bought until it is configured anew, or another payment method is saved. */
  AutoReloadPaused: z.strictObject({ reason: text, at: instantField }),
} as const;
