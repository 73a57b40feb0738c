import assert from 'node:assert/strict';
import { LIMITS } from '../../../contracts/limits.ts';
import { APPEND_BOUNDS } from '../append-bounds.ts';

const MEBI = 1024 * 1024;

/** Bounds of the embedded log. `Chars` are characters of text in memory, at most two bytes each. */
export const SQLITE_LIMITS = Object.freeze({
  /** Appends that have no answer yet, and the text they hold; one more is refused. */
  appendsWaitingMax: 20_000,
  appendsWaitingCharsMax: 64 * MEBI,
  /** What one transaction takes, so that a commit stays short. */
  groupEventsMax: 4_096,
  groupCharsMax: 4 * MEBI,
  /** A second group is handed over before the first is answered only when it is full. */
  groupsInFlightMax: 2,
  /**
   * Under load commits start at least this far apart: each costs as much CPU as 20 events (51 µs an event in twos, 6.5 in
   * 32s). A lone append never waits.
   */
  gatherMs: 2,
  /** The last group's size from which on there is a load to gather. */
  gatherAppendsMin: 4,

  /** Events and text of one page read; the reader looks at the text after each step. */
  pageEvents: 512,
  pageCharsMax: 4 * MEBI,
  pageStepEvents: 64,
  /** Of a page that is hashed where it is read, a few milliseconds; and what is handed over is short. */
  leafPageEvents: 2_048,
  /** How far behind the head whoever seals is, at the most, for what is written to be hashed for it: its hashes take 4 MB. */
  leavesKeptMax: 65_536,
  /** Pages asked for and not answered yet. */
  pagesWaitingMax: 1_000,

  /** This process's latest commits, kept for subscribers; one that is further behind is fed from the file. */
  recentEventsMax: 8_192,
  recentCharsMax: 16 * MEBI,

  /** Waiting for another process's transaction, and the longest pause between two looks. */
  busyMs: 5_000,
  busyPauseMs: 2,
  /** Looking for what another process has written. */
  pollIntervalMs: 100,
  /** Streams whose head the writer remembers. */
  headsMax: 200_000,
  /** Pages in the write-ahead log from which on a commit moves them into the file, and the size it is cut to then. */
  checkpointPages: 4_000,
  walBytesKept: 64 * MEBI,
});

assert(APPEND_BOUNDS.eventsPerAppendMax <= SQLITE_LIMITS.groupEventsMax, 'a group holds at least one append');
assert(LIMITS.appendBytesMax <= SQLITE_LIMITS.groupCharsMax, 'a group holds at least one append');
assert(
  SQLITE_LIMITS.groupsInFlightMax * SQLITE_LIMITS.groupCharsMax <= SQLITE_LIMITS.appendsWaitingCharsMax,
  'what waits fills the groups in flight',
);
assert(SQLITE_LIMITS.pageEvents <= SQLITE_LIMITS.recentEventsMax, 'one batch for a subscriber fits in what is kept');
assert(SQLITE_LIMITS.groupEventsMax <= SQLITE_LIMITS.recentEventsMax, 'what one commit wrote can be kept');
assert(SQLITE_LIMITS.pageEvents % SQLITE_LIMITS.pageStepEvents === 0, 'a page is made of whole steps');
assert(SQLITE_LIMITS.busyPauseMs < SQLITE_LIMITS.busyMs, 'waiting is more than one look');
assert(SQLITE_LIMITS.gatherAppendsMin > 1, 'a lone append never waits');
