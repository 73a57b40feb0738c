import { z } from 'zod';
import { familyField } from './catalog.ts';
import { exactNumberSchema } from './exact-number.ts';

/** Bodies of our own answers. */

/** An entry of GET /v1/models (interface, 3.3). */
export const modelSchema = z.strictObject({
  id: z.string(),
  type: z.literal('model'),
  display_name: z.string(),
  family: familyField,
  status: z.enum(['active', 'deprecated']),
  context_window: z.int(),
  /** RFC 3339: when the catalog had it first. SDKs read this field and the next two, some of them only where they are there. */
  created_at: z.string(),
  /** The context window again, under the SDKs' name. */
  max_input_tokens: z.int(),
  /** The catalog does not say it. */
  max_tokens: z.null(),
  /** On deprecated entries: RFC 3339, and the model to move to. */
  retiresAt: z.string().optional(),
  replacement: z.string().optional(),
  note: z.string().optional(),
});
export type ModelAnswer = z.infer<typeof modelSchema>;

export const modelListSchema = z.strictObject({
  data: z.array(modelSchema),
  has_more: z.boolean(),
  first_id: z.string().nullable(),
  last_id: z.string().nullable(),
});
export type ModelListAnswer = z.infer<typeof modelListSchema>;

export const catalogAnswerSchema = z.strictObject({
  models: z.array(z.strictObject({ id: z.string(), label: z.string(), group: z.string() })),
});
export type CatalogAnswer = z.infer<typeof catalogAnswerSchema>;

const prices = <T extends z.ZodType>(price: T) =>
  z.strictObject({ input: price, output: price, cache_read: price, cache_write_5m: price, cache_write_1h: price });

export const pricingSchema = z.strictObject({
  /** The catalog's version and hash: which table the meter bills with at this moment. */
  version: z.int(),
  hash: z.string(),
  credit: z.literal('1 credit = 1 micro-USD; 1,000,000 credits = 1.00 USD'),
  unit: z.literal('per million tokens'),
  /** Token prices are multiplied with it when, and only when, a request was served fast. */
  fast_multiplier: z.int(),
  models: z.array(
    z.strictObject({
      id: z.string(),
      label: z.string(),
      status: z.enum(['active', 'deprecated']),
      free: z.boolean(),
      fast: z.boolean(),
      caching: z.enum(['none', 'explicit', 'automatic']),
      /** Whole credits per million tokens. */
      credits: prices(exactNumberSchema),
      /** The same in USD, as decimal strings: exact. */
      usd: prices(z.string()),
      /** USD a use, by its name in `usage.server_tool_use`; absent where nothing is billed by the use. */
      usd_per_use: z.record(z.string(), z.string()).optional(),
      /** Betas that change the window or the price of all requests that have them; absent where there are none. */
      betas: z
        .array(
          z.strictObject({
            name: z.string(),
            context_window: z.int(),
            credits: prices(exactNumberSchema),
            usd: prices(z.string()),
          }),
        )
        .optional(),
    }),
  ),
  /** Ids of the models to show first. */
  showcase: z.array(z.string()),
});
/** As it is sent. */
export type PricingAnswer = z.input<typeof pricingSchema>;

const limit = z.strictObject({
  /** Micro-USD per calendar month (UTC); null is none. */
  limit: exactNumberSchema.nullable(),
  /** Micro-USD debited in this month. */
  spent: exactNumberSchema,
});

export const meSchema = z.strictObject({
  /** The member's whose key it is. */
  email: z.string(),
  plan: z.string(),
  /** Credits that can be spent now, in micro-USD: granted, not expired, not spent. */
  available_credits: exactNumberSchema,
  /** Of these, held for requests under way, whosever they are; absent where that member may not see the account. */
  held_credits: exactNumberSchema.optional(),
  account: z.strictObject({ id: z.string(), kind: z.enum(['personal', 'organization']) }),
  key: z.strictObject({
    id: z.string(),
    name: z.string(),
    last4: z.string(),
    expires_at: z.string().nullable(),
    models: z.array(z.string()).nullable(),
  }),
  month: z.strictObject({
    month: z.string(),
    /** Absent where the member whose key it is may not see the account. */
    account: limit.optional(),
    key: limit,
    /** Of the member whose key it is, and of all of that member's keys; absent where the member has no limit. */
    member: limit.optional(),
  }),
});
/** As it is sent. */
export type MeAnswer = z.input<typeof meSchema>;

export const statusSchema = z.strictObject({
  name: z.string(),
  version: z.string(),
  /** Whether requests are admitted. */
  ok: z.boolean(),
  /** How many models can be called. */
  models: z.int(),
  /** What is amiss while requests are admitted all the same; absent where nothing is. */
  degraded: z.string().optional(),
});
export type StatusAnswer = z.infer<typeof statusSchema>;
