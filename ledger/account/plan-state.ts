import { z } from 'zod';
import { microUsdField } from '../../contracts/event-fields.ts';
import type { EventData } from '../../contracts/events.ts';

const ms = z.int();

/** Of an attempt: the period that it pays for. */
export const paidPeriodSchema = z.strictObject({
  plan: z.string(),
  catalogVersion: z.int(),
  startMs: ms,
  endMs: ms,
  overdraft: microUsdField,
});
export type PaidPeriod = z.infer<typeof paidPeriodSchema>;

/** Of what is paid by an attempt, or of what is not asked for. */
export const paidPeriodOf = (claim: EventData<'RenewalStarted'>): PaidPeriod => ({
  plan: claim.plan,
  catalogVersion: claim.catalogVersion,
  startMs: Date.parse(claim.periodStart),
  endMs: Date.parse(claim.periodEnd),
  overdraft: claim.overdraft,
});

export const planSchema = z.strictObject({
  plan: z.string(),
  /** The catalog by which its period is. */
  catalogVersion: z.int(),
  anchorMs: ms,
  /** The newest that is paid; null before the first one is, until when the plan is not in force. */
  period: z.strictObject({ startMs: ms, endMs: ms }).nullable(),
  /** What may be owed. */
  overdraft: microUsdField,
  /** The period that is to be paid, where that was begun. */
  due: z
    .strictObject({
      startMs: ms,
      endMs: ms,
      graceUntilMs: ms,
      attempts: z.int(),
      /** None by itself before; null is not any more, unless another payment method is saved. */
      nextAttemptAtMs: ms.nullable(),
      /** The provider's own word for why it was declined last; null where it was not. */
      declined: z.string().nullable(),
    })
    .nullable(),
  /** What was asked for from an instant on. */
  next: z.strictObject({ plan: z.string(), effectiveAtMs: ms }).nullable(),
  /** The dearer plan that was asked for last, and is to be paid: once it is, `next` is over. Null where something else was asked for since. */
  upgrade: z.string().nullable(),
});
export type PlanState = z.infer<typeof planSchema>;

export const endedPlanSchema = z.strictObject({
  plan: z.string(),
  reason: z.enum(['unpaid', 'cancelled']),
  atMs: ms,
});
