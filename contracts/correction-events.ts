import { z } from 'zod';
import { text } from './bounded-length.ts';
import {
  balanceField,
  grantIdField,
  instantField,
  keyIdField,
  laneField,
  microUsdField,
  monthField,
  requestIdField,
} from './event-fields.ts';

/** Why, and by whom: no correction is without. */
const said = { reason: text, actor: text };

const shares = z.array(z.strictObject({ grantId: grantIdField, amount: microUsdField }));

/** What comes back of an amount that was taken before, in the reverse of the order in which it was taken. */
const comesBack = {
  amount: microUsdField,
  /** Of the amount what no grant had covered when it was taken. */
  uncovered: microUsdField,
  /**
   * What was owed, and is owed no more: first of what no grant had covered, of which others have filled the rest meanwhile, and
   * that comes back first below; then, named in `setOff`, for whatever else is owed.
   */
  owedLess: microUsdField,
  /** What had been taken of these grants, and comes back to none. */
  setOff: shares,
  /** What grants have back, each with its end from here on (exclusive; null is never). */
  reinstated: z.array(
    z.strictObject({ grantId: grantIdField, amount: microUsdField, expiresAt: instantField.nullable() }),
  ),
};

/** Events of an account that undo others, or put something right. */
export const correctionEvents = {
  /** Takes credit back, or what it was spent on: the money was, or may have to be, given back. */
  GrantRevoked: z.strictObject({
    revocationId: text,
    grantId: grantIdField,
    amount: microUsdField,
    /** Of the amount what the grant still held. */
    taken: microUsdField,
    /** The rest, which is owed, */
    uncovered: microUsdField,
    /** as far as these other grants do not pay it at once. */
    setOff: shares,
    cause: z.enum(['refund', 'dispute', 'fraud', 'administration']),
    paymentId: text.nullable(),
    revokedAt: instantField,
    ...said,
    balanceAfter: balanceField,
  }),
  /** Undoes a revocation, whole or in part. */
  GrantRestored: z.strictObject({
    restorationId: text,
    revocationId: text,
    /** The revocation's. */
    grantId: grantIdField,
    cause: z.enum(['refund', 'dispute', 'fraud', 'administration']),
    ...comesBack,
    restoredAt: instantField,
    ...said,
    balanceAfter: balanceField,
  }),
  /** A request need not be paid for, or not all of it. */
  DebitReversed: z.strictObject({
    reversalId: text,
    requestId: requestIdField,
    keyId: keyIdField,
    model: text,
    lane: laneField,
    ...comesBack,
    reversedAt: instantField,
    ...said,
    balanceAfter: balanceField,
    /** The month of the request, in which so much less is spent. */
    month: monthField,
    monthToDateAfter: microUsdField,
    keyMonthToDateAfter: microUsdField,
  }),
  /**
   * What no other event puts right. Upwards it is a grant of its own, under the adjustment's id, that nobody paid for and
   * that never ends; downwards it takes from what can be spent.
   */
  BalanceAdjusted: z.strictObject({
    adjustmentId: grantIdField,
    direction: z.enum(['up', 'down']),
    amount: microUsdField,
    /** Downwards: what it took of which grants, and what of it they do not hold, which is owed, */
    shares,
    uncovered: microUsdField,
    /** as far as these, which can be spent only later, do not pay it at once. */
    setOff: shares,
    adjustedAt: instantField,
    ...said,
    balanceAfter: balanceField,
  }),
} as const;
