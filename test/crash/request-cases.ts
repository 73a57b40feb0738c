/** Kinds of requests in which an adversary, or a provider at its worst, would get more than is paid for. */
export const REQUEST_CASES = [
  /** Input that only the provider sees: a search of its own, a document behind a URL. */
  'server-tools',
  /** Betas in and outside of the allow-list, with answers that are billed as though all had passed. */
  'betas',
  /** Clients that stop reading in the middle of an answer that no buffer holds. */
  'slow-readers',
  /** Clients that leave before the head, in the middle, and past the bound of the drain. */
  'leaving-early',
  /** Usage that cannot be. */
  'absurd-usage',
  /** A service tier that nobody knows a price for. */
  'unknown-tiers',
  /** Whole streams without message_stop, or without their last blank line. */
  'odd-ends',
  /** A whole answer without usage. */
  'no-usage',
] as const;
export type RequestCase = (typeof REQUEST_CASES)[number];
