import { z } from 'zod';
import { balanceField, grantIdField, microUsdField, monthField, requestIdField } from '../../contracts/event-fields.ts';
import { NO_PAYMENTS, paymentsSchema } from './payments-state.ts';
import { endedPlanSchema, planSchema } from './plan-state.ts';

const revocationSchema = z.strictObject({
  revocationId: z.string(),
  grantId: grantIdField,
  cause: z.enum(['refund', 'dispute', 'fraud', 'administration']),
  paymentId: z.string().nullable(),
  amount: microUsdField,
  /** Of the amount what the grant held; the rest is owed, */
  taken: microUsdField,
  /** but for what these have paid at once. */
  setOff: z.array(z.strictObject({ grantId: grantIdField, amount: microUsdField })),
  /** What of the amount has come back, and by which restorations. */
  restored: microUsdField,
  restorations: z.array(z.strictObject({ restorationId: z.string(), amount: microUsdField })),
});
export type Revocation = z.infer<typeof revocationSchema>;

const statementSchema = z.strictObject({
  month: monthField,
  closing: balanceField,
  firstRevision: z.int(),
  lastRevision: z.int(),
});
export type ClosedStatement = z.infer<typeof statementSchema>;

/** What became of an account's credit beside grants and debits: no request changes it, so no debit copies it. */
export const billingSchema = z.strictObject({
  /** Lists, because their ids are an operator's own texts. */
  revocations: z.array(revocationSchema),
  /** Of debits. */
  reversals: z.array(z.strictObject({ reversalId: z.string(), requestId: requestIdField, amount: microUsdField })),
  adjustments: z.array(
    z.strictObject({ adjustmentId: grantIdField, direction: z.enum(['up', 'down']), amount: microUsdField }),
  ),
  payments: paymentsSchema,
  /** Null where there is none, or none with periods. */
  plan: planSchema.nullable(),
  /** The newest; null before there is one, and again once another has begun. */
  endedPlan: endedPlanSchema.nullable(),
  /** The newest; null before there is one. */
  statement: statementSchema.nullable(),
});
export type BillingState = z.infer<typeof billingSchema>;

export const NO_BILLING: BillingState = Object.freeze({
  revocations: [],
  reversals: [],
  adjustments: [],
  payments: NO_PAYMENTS,
  plan: null,
  endedPlan: null,
  statement: null,
});
