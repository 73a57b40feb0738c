import assert from 'node:assert/strict';
import { LIMITS } from '../../../contracts/limits.ts';

/** Bounds of the embedded log; see also `eventBytesMax` and `appendBytesMax`, which every adapter keeps. */
export const SQLITE_LIMITS = Object.freeze({
  eventsPerAppendMax: 4_096,
  /** Appends that wait for a commit; one more is refused. */
  appendsWaitingMax: 50_000,
  /** Events and bytes that one transaction takes, so that a commit stays short. */
  groupEventsMax: 4_096,
  groupBytesMax: 8_000_000,
  /** Events read by one query. */
  pageEvents: 512,
  /** Live events that wait for a slow subscriber; beyond, it is fed from the file again. */
  liveEventsMax: 16_384,
  /** Waiting for another process's transaction. */
  busyMs: 5_000,
  /** Looking for what another process has written. */
  pollMs: 100,
  /** Streams whose last revision the writer remembers. */
  headsMax: 200_000,
});

assert(SQLITE_LIMITS.eventsPerAppendMax <= SQLITE_LIMITS.groupEventsMax, 'a group holds at least one append');
assert(LIMITS.appendBytesMax <= SQLITE_LIMITS.groupBytesMax, 'a group holds at least one append');
assert(SQLITE_LIMITS.pageEvents <= SQLITE_LIMITS.liveEventsMax, 'a slow subscriber falls back to more than a page');
