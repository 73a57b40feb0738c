import { closeSync, fdatasyncSync, ftruncateSync, openSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { RequestId } from '../../contracts/ids.ts';
import { type Shortage, shortageOf } from '../../contracts/shortage.ts';
import { syncFolder } from '../sync-folder.ts';
import { wantOfRights, wantOfRightsOf } from '../want-of-rights.ts';
import { type FolderLock, LOCK_FILE, lockFolder } from './folder-lock.ts';
import { JournalError, type JournalFullBound } from './journal-error.ts';
import { checkedBounds, JOURNAL_BOUNDS, type JournalBounds } from './limits.ts';
import { type Recovery, readJournal } from './recovery.ts';
import { emptyReserve } from './reserve.ts';
import type { Segment } from './segment.ts';
import { makeFolder, RESERVE_FILE, retireSegment } from './segment-folder.ts';
import { createSegment, type SegmentWriter } from './segment-writer.ts';
import { SegmentedJournal } from './segmented-journal.ts';

/**
 * The local, durable record of the requests in flight: that one went upstream, and what it used, survive a crash at
 * any instant. One call each:
 *
 *     begin ──▶ (upstream) ──▶ finish ──▶ (ledger) ──▶ settle
 */
export interface Journal {
  /**
   * Takes down a request's start (JSON text) before it goes upstream. When this returns it is in the file: `kill -9`
   * of the process does not lose it; against loss of power `durable` does.
   * @throws JournalFull when no request may begin now (`obstacle` has told); nothing of it stays. JournalError `input_output`, `closed`.
   */
  begin(requestId: RequestId, start: string): void;

  /**
   * Takes down what is to be settled for a request that has begun (JSON text), at most once, with the same promise.
   * Accepted above `bytesMax`, and with the disk full: no request begins without room for its end. @throws JournalError
   * `input_output` when the write fails all the same, for ever: what it has cost is nowhere then but with the caller.
   */
  finish(requestId: RequestId, finished: string): void;

  /**
   * The ledger has these requests, or they never reached an upstream: the journal may forget them. Written with the
   * next write. A crash before it hands them over once more, and the ledger recognises them. Unknown ids are ignored.
   */
  settle(requestIds: readonly RequestId[]): void;

  /**
   * Resolves when everything that was written before this call is on disk. Calls share their syncs.
   * @throws JournalError `input_output`, for ever once a sync has failed; `closed`.
   */
  durable(): Promise<void>;

  /** Size of all segments that are still needed. */
  readonly bytes: number;
  /** Requests begun and not yet settled. */
  readonly open: number;
  /** Why no request may begin now; null where one may. Bounds and a full disk pass, by themselves or by settling. */
  readonly obstacle: JournalObstacle | null;
  /** What the machine has too little of for this journal; with descriptors alone requests begin all the same, for long. */
  readonly shortage: JournalShortage | null;
  /** Resolves when nothing more can be written, for ever: `obstacle` is `failed`, and only a process that starts can go on. */
  readonly failed: Promise<JournalError>;

  /** Writes and syncs what waits, then gives the folder free. Idempotent. @throws JournalError when that failed. */
  close(): Promise<void>;
}

export interface JournalShortage {
  readonly of: Shortage;
  /** By `performance.now()`. */
  readonly sinceMs: number;
}

/** A bound that is reached, a disk without room, a write or sync that failed for ever, or the end. */
export type JournalObstacle = JournalFullBound | 'failed' | 'closed';

/** A request that was begun and not settled. Without a start only where the part of the journal that had it is damaged. */
export type RecoveredRequest =
  | { readonly requestId: RequestId; readonly start: string; readonly finished: string | null }
  | { readonly requestId: RequestId; readonly start: null; readonly finished: string };

/** A stretch of a segment that cannot be read; offset 0 with 0 bytes is a segment that is missing as a whole. */
export interface DamagedStretch {
  readonly file: string;
  readonly offset: number;
  readonly bytes: number;
}

export interface JournalOptions extends Partial<JournalBounds> {
  /** A folder of its own; made where it is missing. */
  readonly directory: string;
}

export interface OpenedJournal {
  readonly journal: Journal;
  /** In the order in which they began. They stay open until they are settled, so a second crash loses nothing. */
  readonly recovered: readonly RecoveredRequest[];
  /**
   * What cannot be read although there is more after it: not the mark of a crash of the process, but of the disk or of
   * a hand. All else is kept and handed over; the operator must be told. The file stays in the folder as `.damaged`
   * when the journal has no more use for it.
   */
  readonly damaged: readonly DamagedStretch[];
  /** Bytes cut off the end of the last segment: the record that a crash interrupted. */
  readonly cutBytes: number;
}

/**
 * Opens the journal in a folder, for this process alone, and recovers what a crash left in it.
 * @throws JournalError `in_use`; `foreign_file` or `newer_version`, before anything in the folder is changed.
 */
export async function openJournal(options: JournalOptions): Promise<OpenedJournal> {
  const { directory, ...given } = options;
  const bounds = checkedBounds({ ...JOURNAL_BOUNDS, ...given });
  try {
    makeFolder(directory);
    const lock = lockFolder(directory);
    try {
      return await recover(directory, bounds, lock);
    } catch (error) {
      lock.release();
      throw error;
    }
  } catch (error) {
    if (error instanceof JournalError) throw error;
    throw cannotOpen(directory, error);
  }
}

/** A fault of SQLite's names no file; the only one that it opens is the lock. */
function cannotOpen(directory: string, cause: unknown): JournalError {
  const why =
    wantOfRightsOf(cause) ??
    wantOfRights(join(directory, LOCK_FILE)) ??
    (cause instanceof Error ? cause.message : String(cause));
  return new JournalError('input_output', `cannot open the journal in ${directory}: ${why}`, { cause });
}

async function recover(directory: string, bounds: JournalBounds, lock: FolderLock): Promise<OpenedJournal> {
  const recovery = readJournal(directory);
  const { open, recovered, damaged, nextSequence } = recovery;
  const cutBytes = recovery.isRoom ? 0 : recovery.tornBytes;
  cutTorn(recovery);
  const segments = await retireLeading(directory, recovery.segments);
  const writer = firstSegment(directory, recovery.nextNumber);
  const journal = new SegmentedJournal({ directory, bounds, lock, segments, writer, open, nextSequence });
  return { journal, recovered, damaged, cutBytes };
}

/** What an earlier run left can be settled though the disk is full: the room kept for that is given free. */
function firstSegment(directory: string, number: number): SegmentWriter {
  try {
    return createSegment(directory, number);
  } catch (error) {
    if (shortageOf(error) !== 'disk' || !emptyReserve(join(directory, RESERVE_FILE))) throw error;
    return createSegment(directory, number);
  }
}

/** Cuts the torn end off the last segment, on disk, before there is another after it. */
function cutTorn(recovery: Recovery): void {
  if (recovery.tornFile !== null) unlinkSync(recovery.tornFile);
  const last = recovery.segments.at(-1);
  if (recovery.tornBytes === 0 || recovery.tornFile !== null || last === undefined) return;
  const fd = openSync(last.path, 'r+');
  try {
    ftruncateSync(fd, last.bytes);
    fdatasyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** Removes the oldest segments that hold nothing of an open request, and returns the rest. */
async function retireLeading(directory: string, segments: readonly Segment[]): Promise<readonly Segment[]> {
  const firstLive = segments.findIndex((segment) => segment.liveRecords > 0);
  const settled = firstLive === -1 ? segments : segments.slice(0, firstLive);
  for (const segment of settled) await retireSegment(directory, segment.number, segment.isDamaged);
  if (settled.length > 0) syncFolder(directory);
  return segments.slice(settled.length);
}
