import { z } from 'zod';
import { text } from './bounded-length.ts';
import {
  balanceField,
  grantIdField,
  instantField,
  keyIdField,
  laneField,
  leaseIdField,
  microUsdField,
  monthField,
  picoUsdField,
  rateCardRefField,
  rateField,
  requestIdField,
  tokenClassField,
  tokenCountsField,
  useNameField,
} from './event-fields.ts';

/** What a request used, what that cost, and what became of usage that could not be debited as it came. */
/** What a debit took from one grant, or what came back to it. */
const grantShare = z.strictObject({ grantId: grantIdField, amount: microUsdField });

const UsageRecorded = z.strictObject({
  requestId: requestIdField,
  keyId: keyIdField,
  model: text,
  /** The upstream's own id of the request; null where none was seen. */
  upstream: z.strictObject({ provider: text, model: text, requestId: z.string().nullable() }),
  tokens: tokenCountsField,
  /** How often what is billed by the use was used; empty for most. */
  uses: z.record(useNameField, z.int().min(1)),
  /** What the answer reported and no price covers, as `field: value`: billed as standard, or not at all. */
  unpriced: z.array(text),
  lane: laneField,
  /** `upstream_refused`: an answer but 200, or none, before content: seen requests are recorded (What holds, 2). */
  outcome: z.enum(['completed', 'client_disconnected', 'upstream_interrupted', 'upstream_refused', 'recovered']),
  /** `reported`: by the upstream, to its end or as far as it came. `estimated`: by the gateway, all of it or the rest; so are the zeros of an upstream that said nothing. */
  source: z.enum(['reported', 'estimated']),
  /** Whether a debit follows, where the tokens cost anything; false for endings that are not charged. */
  billable: z.boolean(),
  startedAt: instantField,
  finishedAt: instantField,
  rateCard: rateCardRefField,
  /** The most that the request may be debited, which was held for it; null in records from before it was kept. */
  hold: microUsdField.nullable(),
});

const lines = z.array(
  z.strictObject({ tokenClass: tokenClassField, tokens: z.int().min(1), rate: rateField, cost: picoUsdField }),
);
/** Rates are in pico-USD a use. */
const uses = z.array(z.strictObject({ use: useNameField, count: z.int().min(1), rate: rateField, cost: picoUsdField }));

/** What a debit does to an account, whatever it is for. */
const debit = {
  carryBefore: picoUsdField,
  carryAfter: picoUsdField,
  grants: z.array(grantShare),
  /** What no grant covered: 0 so long as the upstream respects max_tokens. */
  uncovered: microUsdField,
  /** Granted less expired, revoked and debited, after this debit. */
  balanceAfter: balanceField,
  /** The month of the request's start. */
  month: monthField,
  monthToDateAfter: microUsdField,
  keyMonthToDateAfter: microUsdField,
};

export const usageEvents = {
  UsageRecorded,
  CreditsDebited: z.strictObject({
    requestId: requestIdField,
    keyId: keyIdField,
    model: text,
    lane: laneField,
    /** Exact, the sum of the lines. */
    cost: picoUsdField,
    carryBefore: debit.carryBefore,
    carryAfter: debit.carryAfter,
    /** What is taken from the balance: cost and carry in whole micro-USD, and never more than the request's hold. */
    amount: microUsdField,
    /** What the hold left out of the amount: an exception, until an operator approves or drops it. */
    leftOut: microUsdField,
    lines,
    uses,
    grants: debit.grants,
    uncovered: debit.uncovered,
    balanceAfter: debit.balanceAfter,
    month: debit.month,
    monthToDateAfter: debit.monthToDateAfter,
    keyMonthToDateAfter: debit.keyMonthToDateAfter,
    /** The lease that the request was admitted under and that shrinks by the amount; absent where one proxy has all. */
    leaseId: leaseIdField.optional(),
  }),
  /**
   * Usage of a request that the ledger has as `recovered` and not charged already. A request is billed once, so this
   * debits nothing: it is an exception, until an operator approves or drops it.
   */
  LateUsageReported: z.strictObject({
    requestId: requestIdField,
    /** As it came. */
    usage: UsageRecorded,
    /** Exact, the sum of the lines; 0 for an ending that is not charged. */
    cost: picoUsdField,
    lines,
    uses,
  }),
  /** An operator has the account pay what an exception was about: all of it, as a debit of the request would have. */
  ExceptionApproved: z.strictObject({
    requestId: requestIdField,
    keyId: keyIdField,
    model: text,
    lane: laneField,
    /** Exact: what the hold left out, and what was reported late. */
    cost: picoUsdField,
    /** What is taken from the balance: cost and carry in whole micro-USD. */
    amount: microUsdField,
    ...debit,
    reason: text,
    actor: text,
  }),
  /** The account never pays what the exception was about: `amount`, in whole micro-USD. */
  ExceptionDropped: z.strictObject({ requestId: requestIdField, amount: microUsdField, reason: text, actor: text }),
} as const;
