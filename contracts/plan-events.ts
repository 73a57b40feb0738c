import { z } from 'zod';
import { text } from './bounded-length.ts';
import { attemptIdField, instantField, microUsdField } from './event-fields.ts';

const periodTerms = {
  /** Periods begin on this day of each month (UTC), or on the month's last day where it has no such one. */
  anchorAt: instantField,
  /** Of the period that is, or begins, when the plan was asked for. */
  periodEnd: instantField,
};

/** Plans of accounts. A period is paid as anything is: what was charged and what is granted stand in the payment's events. */
export const planEvents = {
  /**
   * A plan was asked for: another one, from the instant on that is said, once it is paid; `none` ends the one there is. Null terms are of
   * before there were periods: the account was said to have it, and no more.
   */
  PlanChanged: z.strictObject({
    plan: text,
    terms: z
      .strictObject({
        /** The catalog that has it; null of none. */
        catalogVersion: z.int().min(1).nullable(),
        effectiveAt: instantField,
        ...periodTerms,
        reason: text,
        by: text,
      })
      .nullable(),
  }),
  /** The claim of a period's payment, as of a purchase. Where the price is 0 nobody is asked, and the grant follows in the same append. */
  RenewalStarted: z.strictObject({
    attemptId: attemptIdField,
    /** A whole period, or what a dearer plan costs more for the rest of the one that is. */
    kind: z.enum(['renewal', 'upgrade']),
    provider: text,
    plan: text,
    catalogVersion: z.int().min(1),
    periodStart: instantField,
    /** The credits end with it. */
    periodEnd: instantField,
    price: microUsdField,
    credits: microUsdField,
    /** What may be owed once it is paid. */
    overdraft: microUsdField,
    /** Of a renewal: the plan ends where it is not paid by then, by this attempt or a further one. */
    graceUntil: instantField,
    startedAt: instantField,
  }),
  PlanEnded: z.strictObject({ plan: text, reason: z.enum(['unpaid', 'cancelled']), at: instantField }),
} as const;
