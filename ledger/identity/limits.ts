/** Bounds of the question whether a ledger has everything that is known of it. */
export const IDENTITY_LIMITS = Object.freeze({
  /** A node that lags behind its leader may lack what is known: so often it is asked before that counts as lost. */
  looks: 5,
  lookPauseMs: 1_000,
  /** Streams that are asked for at once. */
  readsAtOnce: 16,
  /** Accounts of the views that are compared one by one; with more of them the newest event alone stands for all. */
  accountsCompared: 1_000,
  /** Lost streams and requests that an event names, and a message. */
  namedInEvent: 200,
  namedInMessage: 20,
  /** Tries to append which ledger this is, against others that do the same. */
  identifyAttempts: 10,
});
