import { z } from 'zod';
import { boundedList } from './bounded-length.ts';
import { keyIdField, microUsdField, monthField } from './event-fields.ts';

/** Percent of a monthly limit that are told of once spending reaches them, where nothing else was set. */
export const USUAL_THRESHOLDS: readonly number[] = [50, 80, 100];

const scopeField = z.enum(['account', 'member', 'key']);
/** By e-mail, which is the same in capital letters; null of another scope. */
const memberField = z.email().nullable();
const percentField = z.int().min(1).max(100);

/** Monthly limits, and what is told of them. */
export const limitEvents = {
  SpendLimitSet: z.strictObject({
    scope: scopeField,
    keyId: keyIdField.nullable(),
    /** Per calendar month; null is none. */
    limit: microUsdField.nullable(),
    member: memberField,
    /** A hard one refuses what does not fit, a soft one only tells. */
    mode: z.enum(['hard', 'soft']),
    /** In rising order. */
    thresholdsPercent: boundedList(percentField, { min: 1 }),
  }),
  /** Once a scope and month for each of its thresholds, whatever the limit is then. */
  SpendThresholdCrossed: z.strictObject({
    scope: scopeField,
    keyId: keyIdField.nullable(),
    month: monthField,
    thresholdPercent: percentField,
    limit: microUsdField,
    spent: microUsdField,
    member: memberField,
  }),
} as const;
