import assert from 'node:assert/strict';
import { LIMITS } from '../../contracts/limits.ts';
import { beginBytes, finishBytes, settleBytes } from './record-v1.ts';
import { HEADER_BYTES } from './segment-header.ts';

const KIB = 1024;
const MIB = 1024 * KIB;

/** The bounds of one journal. Bytes of a text are its bytes in UTF-8. */
export interface JournalBounds {
  /** A segment is closed before a record that would take it past this. */
  readonly segmentBytesMax: number;
  /** Up to this a segment goes on while no descriptor is free for another, tried `reserveLookMs` apart. */
  readonly stretchedBytesMax: number;
  /** No request begins while the live segments have this many bytes or more; as much again may be kept aside. */
  readonly bytesMax: number;
  /** Requests begun and not yet finished or settled. */
  readonly unfinishedMax: number;
  /** Longest time that written bytes wait for a sync that nobody asked for. */
  readonly backgroundSyncMs: number;
  /**
   * Shortest time from the end of one sync to the start of the next, when somebody waits. A sync costs about 100 µs
   * of CPU, so that one after the other without a pause would take half a core from the requests.
   */
  readonly syncPauseMs: number;
  /** Room on the disk that is kept for the ends of requests that have begun, at the least; more when they need more. */
  readonly reserveBytes: number;
  /** How much more than the reserve must be free before requests begin again after the disk was full. */
  readonly reserveMarginBytes: number;
  /** How often that is looked at while the disk is full, and a fresh segment is tried while descriptors are short. */
  readonly reserveLookMs: number;
}

export const JOURNAL_BOUNDS: JournalBounds = Object.freeze({
  segmentBytesMax: 16 * MIB,
  // Half an hour at a thousand requests a second.
  stretchedBytesMax: 2_048 * MIB,
  bytesMax: 512 * MIB,
  unfinishedMax: LIMITS.requestsInFlightMax,
  backgroundSyncMs: 5,
  syncPauseMs: 2,
  // As long as 500 ends can be; they are about 1 KiB.
  reserveBytes: 8 * MIB,
  reserveMarginBytes: 4 * MIB,
  reserveLookMs: 1_000,
});

/** The start or the end of one request, as JSON text. Both are about 500 bytes; a longer one is a bug of the caller. */
export const TEXT_BYTES_MAX = 16 * KIB;
/** Settled requests that wait for the next write. */
export const SETTLED_WAITING_MAX = 1_024;
/** Open requests' records that are moved out of the oldest segment at one rotation: a few milliseconds of work. */
export const COMPACTION_BYTES_MAX = 2 * MIB;
/** They take at most one part in so many of a fresh segment, so that compaction never fills what it frees. */
export const COMPACTION_SHARE = 4;
/** Room that is kept beside for the ends of requests that are kept aside: as long as three can be. */
export const ASIDE_RESERVE_BYTES = 64 * KIB;
/** Requests that are moved aside between two syncs: some milliseconds of work. */
export const MOVED_ASIDE_MAX = 64;
/** Offsets in a segment are 32-bit numbers. */
export const SEGMENT_OFFSET_MAX = 0xffff_ffff;

/**
 * What is still to be written of so many requests that have not ended, of `open` that are not settled: the longest end of
 * each, and the word that it is settled, with what of those words waits already.
 */
export function endsBytes({ unfinished, open }: { readonly unfinished: number; readonly open: number }): number {
  return (
    HEADER_BYTES + unfinished * finishBytes(TEXT_BYTES_MAX) + open * settleBytes(1) + settleBytes(SETTLED_WAITING_MAX)
  );
}

/**
 * What may be written once `bytesMax` is reached: the finish of every request that has begun, and the word that it is
 * settled. So a begun request can always finish. The live segments never have more than `bytesMax` + one write +
 * COMPACTION_BYTES_MAX + this + 25 bytes for each request that waits for the ledger, and settling frees more than it takes.
 */
export const finishHeadroomBytes = ({ unfinishedMax }: JournalBounds): number =>
  endsBytes({ unfinished: unfinishedMax, open: unfinishedMax });

/** Asserts the relations between the bounds. @throws AssertionError which names the relation that does not hold. */
export function checkedBounds(bounds: JournalBounds): JournalBounds {
  for (const [name, value] of Object.entries(bounds))
    assert(Number.isSafeInteger(value) && value >= 1, `${name} must be a whole number of at least 1, got ${value}`);
  assert(
    bounds.bytesMax >= 2 * bounds.segmentBytesMax,
    'a journal holds the segment in use and one that is on its way out',
  );
  assert(bounds.segmentBytesMax <= bounds.stretchedBytesMax, 'a segment that goes on is longer than one that ends');
  // A shortage may forbid a fresh segment just when every begun request finishes: all of it must fit into the last.
  assert(
    bounds.stretchedBytesMax + beginBytes(TEXT_BYTES_MAX) + COMPACTION_BYTES_MAX + finishHeadroomBytes(bounds) <=
      SEGMENT_OFFSET_MAX,
    'every begun request can finish in the segment in use',
  );
  assert(bounds.syncPauseMs <= bounds.backgroundSyncMs, 'who waits for a sync waits no longer than who does not');
  return Object.freeze(bounds);
}

checkedBounds(JOURNAL_BOUNDS);
