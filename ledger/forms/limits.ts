const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;

export const FORMS_LIMITS = Object.freeze({
  /** How often a writer looks up what is adopted, while it has something that is not. */
  adoptedLookMs: 5 * SECOND_MS,
  /** How often a gateway asks who reads what it would adopt: the log looks through all of its events for the claims. */
  claimsLookMs: 5 * MINUTE_MS,
  /** Tries to append what is adopted, against others that write to the same stream. */
  adoptAttempts: 5,
});
