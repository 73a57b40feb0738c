import { z } from 'zod';
import { boundedList, text } from './bounded-length.ts';
import { DEFAULT_PRODUCT, microUsdField, productField } from './event-fields.ts';
import { LIMITS } from './limits.ts';
import { MICRO_PER_USD, parseUsd } from './money.ts';
import { limitsOfPlan, rateLimitSetField } from './rate-limits.ts';

/** What accounts are said to have that have no plan. */
export const WITHOUT_PLAN = 'trial';
/** What is said to end a plan when its period does. */
export const NO_PLAN = 'none';

/** Money is charged in whole cents, and no less than providers take. */
export const CENT = 10_000n;
export const LEAST_CHARGE = 500_000n;

const PLAN_ID = /^[a-z0-9][a-z0-9-]{0,39}$/;

/** A plan as `CatalogPublished` carries it. */
export const catalogPlanField = z.strictObject({
  id: z.string().regex(PLAN_ID),
  /** Of which the accounts are that may have it. */
  product: productField,
  label: text,
  /** A period; 0 is asked of nobody. */
  price: microUsdField,
  period: z.literal('month'),
  /** Granted as each period begins, until it ends. */
  credits: microUsdField,
  /** Null: as accounts that have paid. */
  rateLimits: rateLimitSetField.nullable(),
  /** What an account may owe. */
  overdraft: microUsdField,
  /** Ids of models; null is all of them. */
  models: z.array(text).nullable(),
  /** How long a period may stay unpaid. */
  graceDays: z.int().min(1),
});
export type CatalogPlan = z.infer<typeof catalogPlanField>;

const usd = z.string().transform((said, context) => {
  const amount = parseUsd(said);
  if (amount !== null && amount <= BigInt(LIMITS.planUsdMax) * MICRO_PER_USD) return amount;
  const message = amount === null ? 'expected USD as a string such as "20.00"' : `must be at most ${LIMITS.planUsdMax}`;
  context.addIssue({ code: 'custom', message });
  return z.NEVER;
});

/** A plan of a catalog file. */
export const filePlan = z.strictObject({
  id: z
    .string()
    .regex(PLAN_ID, 'expected a-z, 0-9 and - (at most 40)')
    .refine(
      (id) => id !== WITHOUT_PLAN && id !== NO_PLAN,
      `"${WITHOUT_PLAN}" and "${NO_PLAN}" say that there is no plan`,
    ),
  product: productField.default(DEFAULT_PRODUCT),
  label: text,
  /** USD a period, as a string; "0" is a plan that nobody pays for. */
  price: usd.refine(
    (price) => price % CENT === 0n && (price === 0n || price >= LEAST_CHARGE),
    'expected "0", or whole cents of at least 0.50 USD, which is the least that can be charged',
  ),
  period: z.literal('month').default('month'),
  /** USD that are granted as each period begins, and expire as it ends. */
  credits: usd.refine((credits) => credits > 0n, 'must be more than 0'),
  /** As `rateLimits.paid` of the configuration; where it is not said they are those. */
  rate_limits: limitsOfPlan.optional(),
  /** USD that an account may owe until its next credits. */
  overdraft: usd.prefault('0'),
  /** Where it is not said all of them may be called. */
  models: boundedList(text, { min: 1 }).optional(),
  grace_days: z.int().min(1).max(LIMITS.planGraceDaysMax).default(7),
});
export type FilePlan = z.infer<typeof filePlan>;
