import { closeSync, fdatasyncSync, ftruncateSync, openSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { shortageOf } from '../../contracts/shortage.ts';
import { syncFolder } from '../sync-folder.ts';
import { wantOfRights, wantOfRightsOf } from '../want-of-rights.ts';
import { type FolderLock, LOCK_FILE, lockFolder } from './folder-lock.ts';
import type { DamagedStretch, RecoveredRequest } from './journal.ts';
import { JournalError } from './journal-error.ts';
import type { JournalBounds } from './limits.ts';
import { type Recovery, readJournal } from './recovery.ts';
import { emptyReserve } from './reserve.ts';
import type { Segment } from './segment.ts';
import { makeFolder, RESERVE_FILE, retireSegment } from './segment-folder.ts';
import { createSegment, type SegmentWriter } from './segment-writer.ts';
import { SegmentedJournal } from './segmented-journal.ts';

export interface OpenedSegments {
  readonly journal: SegmentedJournal;
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
 * Opens one folder of segments, as `openJournal` does.
 * @param lockOf by which it is this process's alone
 * @throws JournalError as there
 */
export async function openSegments(
  directory: string,
  bounds: JournalBounds,
  lockOf: (directory: string) => FolderLock = lockFolder,
): Promise<OpenedSegments> {
  try {
    makeFolder(directory);
    const lock = lockOf(directory);
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

async function recover(directory: string, bounds: JournalBounds, lock: FolderLock): Promise<OpenedSegments> {
  const recovery = readJournal(directory);
  const { open, recovered, damaged, nextSequence } = recovery;
  const cutBytes = recovery.isRoom ? 0 : recovery.tornBytes;
  cutTorn(recovery);
  const segments = await retireLeading(directory, recovery.segments);
  const writer = firstSegment(directory, recovery.nextNumber);
  try {
    const journal = new SegmentedJournal({ directory, bounds, lock, segments, writer, open, nextSequence });
    return { journal, recovered, damaged, cutBytes };
  } catch (error) {
    closeSync(writer.fd);
    unlinkSync(writer.segment.path);
    throw error;
  }
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
