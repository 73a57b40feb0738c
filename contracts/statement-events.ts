import { z } from 'zod';
import { balanceField, instantField, microUsdField, monthField, productField } from './event-fields.ts';

/** What moves a balance in a month, by its direction. */
export const INCREASES = ['granted', 'reinstated', 'restored', 'reversed', 'adjustedUp'] as const;
export const DECREASES = ['debited', 'expired', 'revoked', 'adjustedDown'] as const;
export type StatementFigure = (typeof INCREASES)[number] | (typeof DECREASES)[number];

export const statementEvents = {
  /**
   * A month of an account is closed: opening and increases less decreases are the closing, which is the next one's opening.
   * What is written down later belongs to the next one, whatever its date; months without events close with the next one.
   */
  StatementClosed: z.strictObject({
    month: monthField,
    product: productField,
    opening: balanceField,
    granted: microUsdField,
    reinstated: microUsdField,
    restored: microUsdField,
    reversed: microUsdField,
    adjustedUp: microUsdField,
    debited: microUsdField,
    expired: microUsdField,
    revoked: microUsdField,
    adjustedDown: microUsdField,
    closing: balanceField,
    /** Between which revisions its events were looked for, those of later months among them; of statements these may overlap. */
    firstRevision: z.int().min(0),
    lastRevision: z.int().min(0),
    closedAt: instantField,
  }),
} as const;
