import { z } from 'zod';
import { readBalanceStates } from './known-views.ts';

const amount = z.string();

/** What of an account an operator has once done; read from views of any version. */
const knownSchema = z.looseObject({
  accountId: z.string(),
  kind: z.string().default(''),
  email: z.string().default(''),
  plan: z.string().default(''),
  grants: z
    .array(
      z.object({
        grantId: z.string(),
        source: z.string(),
        amount,
        remaining: amount,
        priority: z.int().nullable().default(null),
        /** Exclusive, in milliseconds since 1970; null is never. */
        expiresAtMs: z.number().nullable(),
      }),
    )
    .default([]),
  keys: z
    .record(
      z.string(),
      z.object({ name: z.string().default(''), last4: z.string().default(''), revokedAtMs: z.number().nullish() }),
    )
    .default({}),
  spend: z
    .object({ accountLimit: amount.nullable().default(null), keyLimits: z.record(z.string(), amount).default({}) })
    .default({ accountLimit: null, keyLimits: {} }),
});

/** An account as a views' file knows it. Amounts in micro-USD, as decimal strings. */
export type KnownAccount = Readonly<z.infer<typeof knownSchema>>;

/** The accounts of a views' file, in the order of their ids. @throws Error when it is no database, or a row is not of its form */
export const readKnownAccounts = (path: string): KnownAccount[] =>
  readBalanceStates(path).map(({ state }) => knownSchema.parse(JSON.parse(state)));
