import { z } from 'zod';
import { text } from './bounded-length.ts';
import { balanceField, grantIdField, instantField, microUsdField } from './event-fields.ts';

/** Why, and by whom: no correction is without. */
const said = { reason: text, actor: text };

/** What comes back of an amount that was taken before, in the reverse of the order in which it was taken. */
const comesBack = {
  amount: microUsdField,
  /** Of the amount what no grant had covered when it was taken. */
  uncovered: microUsdField,
  /** Of that what is owed still, and is owed no more. Other grants have filled the rest meanwhile: it comes back first below. */
  owedLess: microUsdField,
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
    /** The rest, which is owed. */
    uncovered: microUsdField,
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
} as const;
