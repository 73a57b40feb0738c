import { z } from 'zod';
import {
  balanceField,
  grantIdField,
  keyIdField,
  laneField,
  leaseIdField,
  microUsdField,
  picoUsdField,
  proxyIdField,
  requestIdField,
} from '../../contracts/event-fields.ts';
import { microUsd, picoUsd } from '../../contracts/money.ts';

/**
 * What an account's stream folds to. The schema is also the form in which a snapshot is kept; a snapshot is a cache,
 * dropped when ACCOUNT_STATE_VERSION is not the program's: the view is then folded from the log again. 3 has brought the
 * exceptions, 4 what has expired of a grant, 5 when requests under a lease start.
 */
export const ACCOUNT_STATE_VERSION = 5;

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

const apiKey = z.strictObject({
  keyId: keyIdField,
  name: z.string(),
  sha256: z.string(),
  last4: z.string(),
  issuer: z.string(),
  expiresAtMs: ms.nullable(),
  models: z.array(z.string()).nullable(),
  revokedAtMs: ms.nullable(),
});
export type ApiKey = z.infer<typeof apiKey>;

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
  keys: z.record(z.string(), microUsdField),
  /** Thresholds already told, as `<scope>:<percent>`; scope is `account` or a key's id. */
  crossed: z.array(z.string()),
});
export type SpendOfMonth = z.infer<typeof spendOfMonth>;

export const spendStateSchema = z.strictObject({
  /** Monthly limits in micro-USD; an absent key or null account is without limit. */
  accountLimit: microUsdField.nullable(),
  keyLimits: z.record(z.string(), microUsdField),
  /** Net debits by calendar month (UTC) of the request's start. */
  months: z.record(z.string(), spendOfMonth),
});
export type SpendState = z.infer<typeof spendStateSchema>;

const billingException = z.strictObject({
  requestId: requestIdField,
  keyId: keyIdField,
  model: z.string(),
  lane: laneField,
  /** The request's own instants, which its debit would burn grants by. */
  startedAtMs: ms,
  finishedAtMs: ms,
  /** What the request's hold left out of its debit. */
  leftOut: microUsdField,
  /** What usage costs that came when the request was already `recovered`; null where none did. */
  late: picoUsdField.nullable(),
  /** What was reported and has no price. */
  unpriced: z.array(z.string()),
});
/** What an operator has to approve or drop. (An exception of the bill, not of the program.) */
export type BillingException = z.infer<typeof billingException>;

const exceptionsSchema = z.strictObject({
  /** By request. */
  open: z.record(z.string(), billingException),
  /**
   * How they ended, so that none ends, or comes, twice. One entry for each command of an operator: it grows as fast as
   * people decide, and has no other bound.
   */
  ended: z.record(z.string(), z.enum(['approved', 'dropped'])),
  /** How many of the open ones have no money in them, and how many such are not kept because there were too many. */
  withoutCost: z.int(),
  unlisted: z.int(),
  /** Of the usage that was folded last, whose debit may follow; null before the first. */
  lastUsage: billingException.pick({ requestId: true, startedAtMs: true, finishedAtMs: true }).nullable(),
});
export type ExceptionsState = z.infer<typeof exceptionsSchema>;

export const openAccountSchema = z.strictObject({
  type: z.literal('open'),
  accountId: z.string(),
  kind: z.enum(['personal', 'organization']),
  email: z.string(),
  plan: z.string(),
  openedAtMs: ms,
  /** Why the account is suspended; null when it is not. */
  suspended: z.string().nullable(),
  members: z.record(z.string(), z.enum(['owner', 'admin', 'member'])),
  keys: z.record(z.string(), apiKey),
  /** In burn order. */
  grants: z.array(grant),
  /** The part below one micro-USD that the next debit takes along. */
  carry: picoUsdField,
  /** Debited beyond what grants covered; the next grant fills it first. */
  uncovered: microUsdField,
  /** Granted less expired, revoked and debited. */
  balance: balanceField,
  spend: spendStateSchema,
  /** What proxies may admit requests against, by lease id; none where one proxy has all. */
  leases: z.record(z.string(), lease),
  /** What could not be debited as it came, until an operator has decided. */
  exceptions: exceptionsSchema,
});
export type OpenAccount = z.infer<typeof openAccountSchema>;

/** The state of a stream without events, or of an account. */
export type AccountState = { readonly type: 'unopened' } | OpenAccount;

export const INITIAL_ACCOUNT: AccountState = { type: 'unopened' };
export const INITIAL_SPEND: SpendState = { accountLimit: null, keyLimits: {}, months: {} };
export const NO_EXCEPTIONS: ExceptionsState = {
  open: {},
  ended: {},
  withoutCost: 0,
  unlisted: 0,
  lastUsage: null,
};
export const NO_CARRY = picoUsd(0n);
export const NOTHING = microUsd(0n);
