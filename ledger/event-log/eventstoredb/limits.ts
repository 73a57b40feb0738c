import assert from 'node:assert/strict';
import { LIMITS } from '../../../contracts/limits.ts';

const MEBI = 1024 * 1024;

/** How long each kind of waiting may last, in milliseconds. The client's own deadlines do not cover all of them. */
export interface EventStoreDbDeadlines {
  /** Finding a server: the client's discovery, before a call begins. */
  readonly connectMs: number;
  /** One append from its first byte to its answer. The server itself gives up after 2 s. */
  readonly appendMs: number;
  /** What is left of that once a later append on the same call is written: the server answers in order, or nearly. */
  readonly overtakenMs: number;
  /** An append's waiting for its turn. */
  readonly appendTurnMs: number;
  /** Silence between two pieces of a read. */
  readonly stallMs: number;
  /** A whole look for the last event. */
  readonly headMs: number;
  /** A subscription's silence after which it is compared with the head of the log. */
  readonly silenceMs: number;
  /** Then what the head shows must come within this time. */
  readonly silenceGraceMs: number;
  /** Waiting for appends under way when the log is closed. */
  readonly closeMs: number;
  /**
   * First and longest pause before a subscription is made again; the same between two start checks. So long after it is over an
   * outage is told, and views that are too old refuse.
   */
  readonly backoffMs: number;
  readonly backoffMaxMs: number;
}

export const DEFAULT_DEADLINES: EventStoreDbDeadlines = Object.freeze({
  connectMs: 5_000,
  appendMs: 5_000,
  overtakenMs: 500,
  appendTurnMs: 15_000,
  stallMs: 10_000,
  headMs: 10_000,
  silenceMs: 5_000,
  silenceGraceMs: 2_000,
  closeMs: 20_000,
  backoffMs: 100,
  backoffMaxMs: 1_000,
});

/** Bounds of the adapter. `Chars` are characters of text in memory, at most two bytes each. */
export const EVENTSTOREDB_LIMITS = Object.freeze({
  /** Appends under way at once; the next ones wait for their turn, and one too many is refused. */
  appendsInFlightMax: 64,
  appendsWaitingMax: 20_000,
  appendsWaitingCharsMax: 64 * MEBI,
  /** What is held of one read or subscription before the server is no longer asked for more. */
  bufferedEventsMax: 4_096,
  bufferedBytesMax: 4 * MEBI,
  /** What is handed over of it at once. */
  batchEventsMax: 512,
  /** Turns of the event loop for which a batch is gathered, while each brings more. */
  gatherTurnsMax: 8,
  /** How long one of several seeds is waited for, unless the connection string says. */
  seedAnswerSeconds: 2,
  /** How often one call, or one append among many, is sent on to another node that is said to lead. */
  leaderHopsMax: 2,
  /** The longest pause before the call of appends is made again, after several in a row that were lost unheard. */
  /** The longest pause before appends' call is made again after several lost unheard: as for a log that is away. */
  reopenPauseMaxMs: LIMITS.settlementProbeMs,
  /** For so long each append is a call of its own where the server knows no other; then it is asked again. */
  plainAppendsMs: 600_000,
  /** The client's own turning away from a channel that failed. */
  handleErrorMs: 500,
  /** Calls in a row that ran out of time before the client is made anew. */
  suspicionsMax: 3,
  /** A checkpoint of a filtered subscription for each so many times 32 events that the filter leaves out. */
  checkpointInterval: 32,
  /** Added to a deadline that the client is given, so that its own answer comes first. */
  deadlineSlackMs: 250,
});

assert(LIMITS.appendBytesMax <= EVENTSTOREDB_LIMITS.appendsWaitingCharsMax, 'the largest append can wait');
assert(EVENTSTOREDB_LIMITS.batchEventsMax <= EVENTSTOREDB_LIMITS.bufferedEventsMax, 'a batch is taken of what is held');
assert(LIMITS.eventBytesMax <= EVENTSTOREDB_LIMITS.bufferedBytesMax, 'the largest event can be held');
assert(
  2 * EVENTSTOREDB_LIMITS.seedAnswerSeconds * 1_000 < DEFAULT_DEADLINES.connectMs,
  'two of three seeds may be mute',
);
assert(DEFAULT_DEADLINES.backoffMs < DEFAULT_DEADLINES.backoffMaxMs, 'a back-off grows to its bound');
assert(DEFAULT_DEADLINES.overtakenMs < LIMITS.leaseWaitMs / 2, 'a request goes on whose append was lost in an outage');
assert(
  DEFAULT_DEADLINES.appendMs + DEFAULT_DEADLINES.appendTurnMs <= DEFAULT_DEADLINES.closeMs,
  'closing outlasts what it waits for',
);
