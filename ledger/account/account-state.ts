import { z } from 'zod';
import {
  balanceField,
  grantIdField,
  keyIdField,
  leaseIdField,
  microUsdField,
  picoUsdField,
  proxyIdField,
} from '../../contracts/event-fields.ts';
import { type MicroUsd, microUsd, picoUsd } from '../../contracts/money.ts';
import { billingSchema } from './billing-state.ts';
import { type ExceptionsState, exceptionsInSumSchema } from './exceptions-state.ts';
import type { KeyedTree } from './keyed-tree.ts';
import { organizationSchema } from './organization-state.ts';

/**
 * What an account's stream folds to. The schema is also the form in which a snapshot is kept (stored-account.ts); a
 * snapshot is a cache, dropped when ACCOUNT_STATE_VERSION is not the program's: the view is then folded from the log
 * again. 3 has brought the exceptions, 4 what has expired of a grant, 5 when requests under a lease start, 6 exceptions
 * that are kept one by one; 7 has no members, which nobody read; 8 has what became of credit beside grants and debits,
 * product and members, whose a key is, and its secret of before; 9 has plans with
 * their periods; 10 has soft limits, limits of members, and the thresholds of each; 11 when a
 * payment method was removed; 12 keeps what was asked for before a dearer plan until that is paid; 13 counts reloads that
 * were given up among those that were declined; 14 the dearer plan that was asked for last; 15
 * why what a plan's period costs was declined last; 16 counts reloads that nobody has answered apart from those that were
 * declined; 17 which grants have paid for a revocation; 18 has of what there may be any number each in a row of its own, in each
 * key its place among those that were issued, and with which payment method an attempt
 * was begun, and whether that may be tried again; 19 which other one was declined of it.
 */
export const ACCOUNT_STATE_VERSION = 19;

const ms = z.int();

const grant = z.strictObject({
  grantId: grantIdField,
  source: z.enum(['trial', 'purchase', 'plan', 'promotion', 'adjustment']),
  amount: microUsdField,
  remaining: microUsdField,
  /** Written down as expired and not reinstated. */
  expired: microUsdField,
  costBasis: microUsdField,
  priority: z.int(),
  effectiveAtMs: ms,
  /** Exclusive; null is never. */
  expiresAtMs: ms.nullable(),
});
export type Grant = z.infer<typeof grant>;

export const apiKeySchema = z.strictObject({
  keyId: keyIdField,
  /** How many of the account's were issued before it. */
  number: z.int().min(0),
  name: z.string(),
  sha256: z.string(),
  last4: z.string(),
  /** Whose it is, by e-mail; null is the first owner. */
  member: z.string().nullable(),
  /** The secret before the newest, until its end (exclusive); null where the key was never rotated. */
  previous: z.strictObject({ sha256: z.string(), last4: z.string(), untilMs: ms }).nullable(),
  issuer: z.string(),
  expiresAtMs: ms.nullable(),
  models: z.array(z.string()).nullable(),
  revokedAtMs: ms.nullable(),
});
export type ApiKey = z.infer<typeof apiKeySchema>;

const lease = z.strictObject({
  leaseId: leaseIdField,
  proxy: proxyIdField,
  /** Of the proxy's claim that the lease was first given under; 0 from before there were claims. */
  epoch: z.int().min(0),
  /** The key whose monthly limit it counts against, too; null for keys without one. */
  keyId: keyIdField.nullable(),
  /** Leased less released and less debited under it. */
  amount: microUsdField,
  /**
   * The most that keys which have got a limit since could still be debited under it, by key. Their requests from before
   * the limit come under a lease for keys without one; what is admitted once the limit is known does not.
   */
  beforeLimit: z.record(z.string(), microUsdField),
  /** Exclusive. */
  expiresAtMs: ms,
  /** Its requests start from the one instant on, and before the other; null is not known, and without end. */
  requestsFromMs: ms.nullable(),
  requestsBeforeMs: ms.nullable(),
});
export type Lease = z.infer<typeof lease>;

const spendOfMonth = z.strictObject({
  account: microUsdField,
  /** Thresholds already told, as `<scope>:<percent>`. */
  crossed: z.array(z.string()),
});
export type SpendOfMonth = z.infer<typeof spendOfMonth> & {
  /** By key, of those that have spent in it. */
  keys: KeyedTree<MicroUsd>;
  /** The same by member (`memberKey`), made of it: null where there are no `otherLimits`, and nobody asks. */
  members: KeyedTree<MicroUsd>;
};

/** Limits that are not the account's or a key's hard one, told at the usual thresholds; scopes as `limitName` says them. */
const otherLimits = z.strictObject({
  /** Hard ones of members, by e-mail in small letters. */
  members: z.record(z.string(), microUsdField),
  /** Soft ones, which only tell, by scope. */
  soft: z.record(z.string(), microUsdField),
  /** Percents that a limit is told at, by scope. */
  thresholds: z.record(z.string(), z.array(z.int())),
});
export type OtherLimits = z.infer<typeof otherLimits>;

const storedSpend = z.strictObject({
  /** A hard monthly limit in micro-USD: what does not fit is refused; null is without. */
  accountLimit: microUsdField.nullable(),
  /** Null where there is none: then none of it is looked at. */
  otherLimits: otherLimits.nullable(),
  /** Net debits by calendar month (UTC) of the request's start. */
  months: z.record(z.string(), spendOfMonth),
});
export type SpendState = Omit<z.infer<typeof storedSpend>, 'months'> & {
  months: Record<string, SpendOfMonth>;
  /** Those of keys, by key. */
  keyLimits: KeyedTree<MicroUsd>;
};

const spendSchema = z.codec(storedSpend, z.custom<SpendState>(), {
  decode: ({ months, ...kept }) => ({
    ...kept,
    keyLimits: null,
    months: mapped(months, ({ account, crossed }) => ({ account, keys: null, members: null, crossed })),
  }),
  encode: ({ keyLimits: _each, months, ...kept }) => ({
    ...kept,
    months: mapped(months, ({ account, crossed }) => ({ account, crossed })),
  }),
});

const mapped = <V, W>(record: Readonly<Record<string, V>>, change: (value: V) => W): Record<string, W> =>
  Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value)]));

/**
 * All of an account but what there may be any number of, each of which is kept by itself: its exceptions, and its parts
 * (stored-parts.ts).
 */
export const openAccountSchema = z.strictObject({
  type: z.literal('open'),
  accountId: z.string(),
  kind: z.enum(['personal', 'organization']),
  email: z.string(),
  organization: organizationSchema,
  plan: z.string(),
  openedAtMs: ms,
  /** Why the account is suspended; null when it is not. */
  suspended: z.string().nullable(),
  /** How many keys have been issued. */
  keysIssued: z.int().min(0),
  /** In burn order. */
  grants: z.array(grant),
  /** The part below one micro-USD that the next debit takes along. */
  carry: picoUsdField,
  /** Debited beyond what grants covered; the next grant fills it first. */
  uncovered: microUsdField,
  /** Granted less expired, revoked and debited. */
  balance: balanceField,
  spend: spendSchema,
  billing: billingSchema,
  /** What proxies may admit requests against, by lease id; none where one proxy has all. */
  leases: z.record(z.string(), lease),
  exceptions: exceptionsInSumSchema,
});
export type OpenAccount = Omit<z.infer<typeof openAccountSchema>, 'exceptions'> & {
  /** What could not be debited as it came, until an operator has decided. */
  exceptions: ExceptionsState;
  /** By id. Of revoked ones there may be any number: no event copies them. */
  keys: KeyedTree<ApiKey>;
};

/** The state of a stream without events, or of an account. */
export type AccountState = { readonly type: 'unopened' } | OpenAccount;

export const INITIAL_ACCOUNT: AccountState = { type: 'unopened' };
export const INITIAL_SPEND: SpendState = { accountLimit: null, keyLimits: null, otherLimits: null, months: {} };
export const NO_LEASES: OpenAccount['leases'] = Object.freeze({});
export const NO_CARRY = picoUsd(0n);
export const NOTHING = microUsd(0n);
