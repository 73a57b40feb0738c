import assert from 'node:assert/strict';

/** Bounds of whatever talks to Kafka. */
export const FEED_LIMITS = Object.freeze({
  connectMs: 3_000,
  /** From a request to its answer. */
  requestMs: 10_000,
  /** Asking a connection to close, before it is cut. */
  closeMs: 2_000,
  /** For a program to give a token, and for what it may write. */
  tokenMs: 10_000,
  tokenBytes: 64 * 1024,
  /** Part of a token's life that is left when the next is asked for. */
  tokenRestPart: 5,
  /** How long a token is used that does not say how long it may be. */
  opaqueTokenMs: 60_000,
  /** What is left of a session that a broker has bounded when the driver authenticates anew. */
  reauthenticateMs: 10_000,
  /** Silence after which the operating system asks whether the other side is still there. */
  keepAliveMs: 60_000,
  backOff: { firstMs: 100, maxMs: 10_000 },
  /** The same where a partition gets another leader, which takes a cluster a moment. */
  backOffChoosingMs: 1_000,
  /** A cluster that is busy with itself (a new leader, a new topic) is asked again after this, for so long in all. */
  passingPauseMs: 200,
  passingMs: 10_000,

  /** A fetch is answered after this, also where there is nothing new; so it tells that the broker is there. */
  fetchWaitMs: 250,
  /** Without an answer for so long the feed counts as lost from sight. */
  silenceMs: 5_000,
  /**
   * The same while a reader of its own joins its group, which waits for no other member: longer than what brokers wait for further
   * members by default (3 s). The driver would ask a coordinator that does not answer four times, for 40 s.
   */
  joinSilenceMs: 8_000,
  silenceCheckMs: 250,
  /** The broker gives a member's partitions to others when it has been silent for so long. */
  sessionMs: 30_000,
  /** Of a session, between two signs of life. */
  heartbeatPart: 10,
  partitionBytes: 1_000_000,
  fetchBytes: 10_000_000,
  /** Of what was fetched so many events are handed over at once, or a batch that has more: few enough to die young. */
  handedEvents: 250,
  /** Up to so many bytes a batch is decompressed at once, and up to so many in one piece. */
  decompressAtOnceBytes: 64 * 1024,
  decompressedBytes: 1024 * 1024,
  /** What a batch may hold, decompressed: far more than a relay puts into one. */
  batchBytesMax: 128 * 1024 * 1024,
  /** Names of headers that are remembered, by their place in a record, and the bytes of one. */
  headerNamesKept: 32,
  headerNameBytesKept: 64,
  /**
   * Of each partition the last messages that are looked at: a relay that was killed sends again what it had sent since its
   * checkpoint, about a second's, and what was written last may be such.
   */
  tailMessages: 1_000,
  /** Between two looks at a topic that is in use: somebody may have changed it. */
  topicLookMs: 60_000,
  /** Fetches in a row that bring nothing of what was there when a reading began, and wait each time: some ten seconds. */
  fetchesInVainMax: 40,

  /** Streams whose last revision a consumer remembers that keeps none of its own. */
  streamsMax: 100_000,
});

assert(FEED_LIMITS.fetchWaitMs * 4 < FEED_LIMITS.silenceMs, 'several fetches fit before silence means anything');
assert(FEED_LIMITS.heartbeatPart >= 3, 'a lost heartbeat does not end a session');
assert(FEED_LIMITS.backOff.firstMs < FEED_LIMITS.backOff.maxMs, 'a back-off grows to its bound');
