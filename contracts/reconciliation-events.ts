import { z } from 'zod';
import { text } from './bounded-length.ts';
import { countField, instantField, picoUsdField, signedPicoUsdField } from './event-fields.ts';
import { TOKEN_CLASSES } from './usage.ts';

/** What became of a comparison of a provider's usage report with the ledger. */
const whole = z.int().min(0);
/** `cacheWrite` where a report does not say for how long; `all` is a line's sum. */
const classField = z.enum([...TOKEN_CLASSES, 'cacheWrite', 'all']);

/** Events of a stream `reconciliation-<provider>`: no program that does not know them reads it. */
export const reconciliationEvents = {
  ProviderReconciled: z.strictObject({
    provider: text,
    report: z.strictObject({
      /** Of the file's bytes. */
      sha256: z.string().regex(/^[0-9a-f]{64}$/),
      rows: whole,
      /** Rows outside the time that was compared, and rows that are not about tokens. */
      outside: whole,
      withoutTokens: whole,
    }),
    by: z.enum(['request', 'day']),
    /** The time that was compared, the second exclusive. */
    from: instantField,
    to: instantField,
    /** What the report says tokens of; only these are compared. */
    classes: z.array(classField),
    /** Requests, or a day's models, tiers and classes. */
    counts: z.strictObject({ matched: whole, mismatched: whole, oursOnly: whole, theirsOnly: whole }),
    /** Tokens and amounts by model, tier and class: ours at the rate cards' prices, theirs as the report has them. */
    lines: z.array(
      z.strictObject({
        model: text,
        /** `all` where the report does not tell tiers apart. */
        tier: text,
        tokenClass: classField,
        ours: countField,
        theirs: countField.nullable(),
        oursAmount: picoUsdField,
        theirsAmount: signedPicoUsdField.nullable(),
      }),
    ),
    linesLeftOut: whole,
    /** The largest; those that there is no room for are counted. */
    differences: z.array(
      z.strictObject({
        kind: z.enum(['mismatch', 'ours only', 'theirs only']),
        /** The provider's id of the request; null where days are compared. */
        requestId: text.nullable(),
        day: z.iso.date().nullable(),
        model: text,
        tier: text,
        tokens: z.array(z.strictObject({ tokenClass: classField, ours: countField, theirs: countField })),
      }),
    ),
    differencesLeftOut: whole,
  }),
} as const;
