/**
 * What happens to one append. Those that begin with `store` are stored first; the others are not stored, but for
 * `lose-ack` and `lose-ack-cancelled`, which are stored and whose answer is lost.
 */
export type AppendFault =
  | 'ok'
  /** UNAVAILABLE. */
  | 'refuse'
  /** Stored; the call breaks with UNAVAILABLE. */
  | 'lose-ack'
  /** Stored; the call breaks with CANCELLED. */
  | 'lose-ack-cancelled'
  /** Never answered. */
  | 'stall'
  | 'store-and-stall'
  /** NOT_FOUND with the trailers `exception: not-leader` and the leader's end point. */
  | 'not-leader'
  /** "Server Is Busy". */
  | 'busy'
  /** "Server Is Not Ready". */
  | 'not-ready'
  /** Not handled for want of a leader that is known. */
  | 'no-leader'
  /** Given up before it was handed to the log: of one append among many, an answer; of a call of its own, UNKNOWN. */
  | 'bad-request'
  | 'internal'
  | 'unknown'
  /** ABORTED ("Operation timed out: Commit phase timeout"), as after the server's CommitTimeout. */
  | 'commit-timeout'
  | 'store-and-commit-timeout'
  | 'access-denied'
  /** The TCP connection is reset, with every call on it. */
  | 'cut'
  | 'store-and-cut';

/** What happens to one read or one subscription. An event counts when it has been written to the call. */
export type ReadFault =
  | 'ok'
  | 'refuse'
  | 'not-leader'
  | 'busy'
  | 'internal'
  | 'access-denied'
  | 'cut'
  /** UNAVAILABLE after so many events. */
  | { readonly breakAfterEvents: number }
  /** After so many events nothing more is sent, and the call stays open. */
  | { readonly silentAfterEvents: number }
  /** The TCP connection is reset after so many events. */
  | { readonly cutAfterEvents: number };

export type CapabilitiesFault = 'ok' | 'refuse' | 'internal' | 'unimplemented' | 'stall';
