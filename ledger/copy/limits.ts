import assert from 'node:assert/strict';
import { LIMITS } from '../../contracts/limits.ts';
import { SQLITE_LIMITS } from '../event-log/sqlite/limits.ts';

/** Bounds of a copy from log to log. `Chars` are characters of text in memory, at most two bytes each. */
export const COPY_LIMITS = Object.freeze({
  /**
   * Appends that a file is given together, which are one transaction. A server is given one behind the answer of the other: it
   * may refuse one and take the next, and then has an order of its own for good.
   */
  appendsAtOnceInFile: 64,
  /** Events of one stream that stand behind one another go in one append. */
  eventsPerAppendMax: 64,
  appendCharsMax: 64 * 1_024,
  /** What is held of the source until the target has it. */
  charsAtOnceMax: 2 * 1_024 * 1_024,
  /** How often what a log did not answer is tried before the command ends, to be run again. */
  tries: 20,
  /** Under which a relay's place is written to the target. */
  relayClaimMs: 10_000,
  pauseMsMax: 1_000,
});

assert(
  COPY_LIMITS.appendsAtOnceInFile * COPY_LIMITS.eventsPerAppendMax <= SQLITE_LIMITS.groupEventsMax &&
    COPY_LIMITS.charsAtOnceMax + LIMITS.eventBytesMax <= SQLITE_LIMITS.groupCharsMax,
  'they are one transaction of a file: all of them are written, or none',
);
assert(COPY_LIMITS.appendCharsMax * 3 <= LIMITS.appendBytesMax, 'an append of several events is within its bounds');
