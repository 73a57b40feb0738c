import assert from 'node:assert/strict';
import { fdatasyncSync } from 'node:fs';
import type { RequestId } from '../../contracts/ids.ts';
import { shortageOf } from '../../contracts/shortage.ts';
import { compact } from './compaction.ts';
import type { FolderLock } from './folder-lock.ts';
import { GroupSync } from './group-sync.ts';
import type { Journal, JournalObstacle, JournalShortage, RecoveredRequest } from './journal.ts';
import { JournalError, JournalFull, type JournalFullBound } from './journal-error.ts';
import {
  COMPACTION_BYTES_MAX,
  COMPACTION_SHARE,
  endsBytes,
  type JournalBounds,
  SETTLED_WAITING_MAX,
} from './limits.ts';
import type { OpenRequests } from './open-requests.ts';
import { PostponedRotation } from './postponed-rotation.ts';
import { readOpenRequest } from './read-open-request.ts';
import { Reserve } from './reserve.ts';
import { RetiredSegments } from './retired-segments.ts';
import type { Segment } from './segment.ts';
import { HEADER_BYTES } from './segment-header.ts';
import { appendBytes, createSegment, cutRoom, type SegmentWriter, segmentInReserve } from './segment-writer.ts';
import { WriteBatch } from './write-batch.ts';

interface SegmentedJournalOptions {
  readonly directory: string;
  readonly bounds: JournalBounds;
  readonly lock: FolderLock;
  /** Earlier segments, oldest first. */
  readonly segments: readonly Segment[];
  readonly writer: SegmentWriter;
  readonly open: OpenRequests;
  readonly nextSequence: number;
}

/** The journal over a folder of segments; what its calls promise stands at the interface. */
export class SegmentedJournal implements Omit<Journal, 'keepAside' | 'asideBytes'> {
  readonly #directory: string;
  readonly #bounds: JournalBounds;
  readonly #lock: FolderLock;
  readonly #open: OpenRequests;
  readonly #batch = new WriteBatch();
  readonly #sync: GroupSync;
  readonly #retired: RetiredSegments;
  readonly #reserve: Reserve;
  /** Oldest first; the last is the one in use. */
  readonly #segments: Segment[];
  #writer: SegmentWriter;
  #bytes: number;
  #sequence: number;
  #failure: JournalError | null = null;
  readonly #failed = Promise.withResolvers<JournalError>();
  readonly #postponed: PostponedRotation;
  #closing: Promise<void> | null = null;

  constructor(options: SegmentedJournalOptions) {
    this.#directory = options.directory;
    this.#bounds = options.bounds;
    this.#lock = options.lock;
    this.#open = options.open;
    this.#writer = options.writer;
    this.#segments = [...options.segments, options.writer.segment];
    this.#bytes = this.#segments.reduce((sum, segment) => sum + segment.bytes, 0);
    this.#sequence = options.nextSequence;
    this.#retired = new RetiredSegments(options.directory, (cause) => {
      this.#fail('cannot remove a settled segment', cause);
    });
    this.#postponed = new PostponedRotation(options.bounds.reserveLookMs, () => this.#rotateAgain());
    this.#reserve = new Reserve({
      directory: options.directory,
      bounds: options.bounds,
      neededBytes: () => endsBytes({ unfinished: this.#open.unfinished + 1, open: this.#open.size + 1 }),
      onFailure: (cause) => {
        this.#fail('cannot keep room for the end of requests', cause);
      },
    });
    this.#sync = new GroupSync({
      fd: options.writer.fd,
      backgroundMs: options.bounds.backgroundSyncMs,
      pauseMs: options.bounds.syncPauseMs,
      beforeSync: () => this.#writeSettled(),
      onFailure: (cause) => {
        this.#fail('cannot sync the journal', cause);
      },
    });
  }

  get bytes(): number {
    return this.#bytes;
  }

  get open(): number {
    return this.#open.size;
  }

  get obstacle(): JournalObstacle | null {
    if (this.#failure !== null) return 'failed';
    return this.#closing === null ? this.#boundReached() : 'closed';
  }

  get shortage(): JournalShortage | null {
    const diskSinceMs = this.#reserve.shortSinceMs;
    if (diskSinceMs !== null) return { of: 'disk', sinceMs: diskSinceMs };
    const { sinceMs } = this.#postponed;
    return sinceMs === null ? null : { of: 'descriptors', sinceMs };
  }

  get failed(): Promise<JournalError> {
    return this.#failed.promise;
  }

  has(id: RequestId): boolean {
    return this.#open.has(id);
  }

  /** Whether it is open and has no end. */
  canFinish(id: RequestId): boolean {
    return this.#open.canFinish(id);
  }

  /** A request as it would be recovered; null where it is not open. @throws JournalError `input_output`; for want of descriptors what the system said */
  read(id: RequestId): RecoveredRequest | null {
    const places = this.#open.placesOf(id);
    if (places === null) return null;
    try {
      return readOpenRequest(id, places);
    } catch (error) {
      if (shortageOf(error) !== null) throw error;
      throw this.#fail('cannot read what was written', error);
    }
  }

  begin(id: RequestId, start: string): void {
    this.#assertUsable();
    const bound = this.#boundReached();
    if (bound !== null) throw this.#full(bound);
    assert(!this.#open.has(id), 'a request begins once');
    this.#keepRoom();
    this.#batch.setBegin(id, this.#sequence, start);
    try {
      this.#rotateWhenFull();
      const { segment } = this.#writer;
      const bytes = this.#batch.bytes - this.#batch.recordAt;
      this.#open.begin(id, { segment, offset: this.#writeBatch(), bytes });
      this.#sequence += 1;
    } catch (error) {
      this.#batch.dropRecord();
      const shortage = shortageOf(error);
      if (shortage === null) throw this.#fail('cannot write to the journal', error);
      if (shortage === 'disk') this.#reserve.guard();
      throw this.#full(shortage, error);
    }
  }

  finish(id: RequestId, finished: string): void {
    this.#assertUsable();
    assert(this.#open.canFinish(id), 'a request finishes once, after it has begun');
    this.#batch.setFinish(id, finished);
    const { bytes, recordAt } = this.#batch;
    try {
      const offset = this.#writeFinish();
      this.#open.finish(id, { segment: this.#writer.segment, offset, bytes: bytes - recordAt });
    } catch (error) {
      this.#batch.dropRecord();
      throw this.#fail('cannot write the end of a request to the journal', error);
    }
  }

  /** Before a request begins there is room for its end. */
  #keepRoom(): void {
    let isKept: boolean;
    try {
      isKept = this.#reserve.keepRoom();
    } catch (error) {
      throw this.#fail('cannot keep room for the end of requests', error);
    }
    if (!isKept) throw this.#full('disk');
  }

  /** To the segment in use; where the disk is full, to the reserve, which then is the segment in use. */
  #writeFinish(): number {
    try {
      this.#rotateIfPossible();
      return this.#writeBatch();
    } catch (error) {
      if (shortageOf(error) !== 'disk') throw error;
    }
    try {
      this.#rotateIntoReserve();
    } catch (error) {
      if (shortageOf(error) !== 'disk') throw error;
      // There was no room for its new name; there is now, for what it had is free.
      this.#rotate();
    }
    return this.#writeBatch();
  }

  #rotateIntoReserve(): void {
    this.#endSegment();
    const writer = segmentInReserve(this.#reserve, this.#directory, this.#writer.segment.number + 1);
    if (writer !== null) this.#use(writer);
  }

  settle(ids: readonly RequestId[]): void {
    for (const id of ids) {
      if (!this.#open.settle(id)) continue;
      if (this.#batch.settled === SETTLED_WAITING_MAX) this.#writeSettled();
      // With the disk full there is no room for this word. Without it a crash settles the request once more, which
      // the ledger recognises.
      if (this.#batch.settled < SETTLED_WAITING_MAX) this.#batch.addSettled(id);
    }
    if (!this.#isUsable()) return;
    this.#retireSettled();
    if (this.#batch.settled > 0) this.#sync.wrote();
  }

  durable(): Promise<void> {
    if (this.#closing !== null) return Promise.reject(closedError(this.#directory));
    return this.#sync.durable();
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#postponed.end();
    try {
      await this.#reserve.close();
      await this.#retired.close();
      await this.#sync.durable();
      cutRoom(this.#writer);
    } finally {
      await this.#sync.close();
      this.#lock.release();
    }
  }

  #isUsable(): boolean {
    return this.#failure === null && this.#closing === null;
  }

  #assertUsable(): void {
    if (this.#closing !== null) throw closedError(this.#directory);
    if (this.#failure !== null) throw this.#failure;
  }

  #boundReached(): JournalFullBound | null {
    if (this.#bytes >= this.#bounds.bytesMax) return 'bytesMax';
    if (this.#open.unfinished >= this.#bounds.unfinishedMax) return 'unfinishedMax';
    if (!this.#reserve.isWhole) return 'disk';
    return this.#writer.segment.bytes >= this.#bounds.stretchedBytesMax ? 'descriptors' : null;
  }

  #full(bound: JournalFullBound, cause?: unknown): JournalFull {
    const limit =
      bound === 'disk'
        ? 'the disk has no room'
        : bound === 'descriptors'
          ? 'there is no descriptor for another file of it'
          : `${bound} is ${this.#bounds[bound]}`;
    return new JournalFull(bound, `the journal in ${this.#directory} is full: ${limit}`, { cause });
  }

  #fail(what: string, cause: unknown): JournalError {
    this.#failure ??= new JournalError('input_output', `${what} in ${this.#directory}`, { cause });
    this.#sync.fail(this.#failure);
    this.#failed.resolve(this.#failure);
    return this.#failure;
  }

  /** Writes the batch and returns the offset of its begin or finish. */
  #writeBatch(): number {
    const { segment } = this.#writer;
    const { bytes } = this.#batch;
    const offset = segment.bytes + this.#batch.recordAt;
    this.#batch.putChecksum(segment.number, segment.bytes);
    appendBytes(this.#writer, this.#batch.buffer, bytes);
    this.#batch.clear();
    this.#bytes += bytes;
    this.#sync.wrote();
    return offset;
  }

  /** Writes the settled requests that wait. With the disk full they go on waiting. */
  #writeSettled(): void {
    if (this.#batch.settled === 0 || this.#failure !== null) return;
    try {
      this.#rotateIfPossible();
      this.#writeBatch();
    } catch (error) {
      if (shortageOf(error) === null) this.#fail('cannot write to the journal', error);
    }
  }

  /** Without a descriptor for a new segment the one in use goes on, and it is tried again a while later. */
  #rotateWhenFull(): void {
    const { segment } = this.#writer;
    // What is left of a reserve is kept for what has not ended yet, until there is another.
    if (segment.roomBytes > 0 && !this.#reserve.isWhole) return;
    const isOver = segment.bytes + this.#batch.bytes > this.#bounds.segmentBytesMax;
    if (!isOver || segment.bytes === HEADER_BYTES || this.#postponed.isWaiting) return;
    try {
      this.#rotate();
    } catch (error) {
      if (shortageOf(error) !== 'descriptors') throw error;
      this.#postponed.begin();
      return;
    }
    this.#compactOldest();
  }

  /** A full disk may have no room for a new segment and still some for what ends a request: that stays in the old one. */
  #rotateIfPossible(): void {
    try {
      this.#rotateWhenFull();
    } catch (error) {
      if (shortageOf(error) === null) throw error;
    }
  }

  /** Also where nothing is written meanwhile, because no request may begin. */
  #rotateAgain(): void {
    if (!this.#isUsable()) return;
    try {
      this.#rotateIfPossible();
    } catch (error) {
      this.#fail('cannot write to the journal', error);
    }
  }

  /** Closes the segment in use and starts the next. Synchronous: about a millisecond, once in `segmentBytesMax`. */
  #rotate(): void {
    this.#endSegment();
    this.#use(createSegment(this.#directory, this.#writer.segment.number + 1));
  }

  /** Only the last segment may end in anything but a record, so the one in use is on disk before there is another. */
  #endSegment(): void {
    cutRoom(this.#writer);
    this.#syncNow();
  }

  #use(writer: SegmentWriter): void {
    this.#writer = writer;
    this.#postponed.end();
    this.#sync.moveTo(writer.fd);
    this.#segments.push(writer.segment);
    this.#bytes += writer.segment.bytes;
    this.#retireSettled();
  }

  /** Unlike a write, a sync that fails for want of room is final: what it should have stored may be gone. */
  #syncNow(): void {
    try {
      fdatasyncSync(this.#writer.fd);
    } catch (error) {
      throw this.#fail('cannot sync the journal', error);
    }
  }

  /** Empties the oldest segments where little of them is still needed. */
  #compactOldest(): void {
    let leftBytes = Math.min(COMPACTION_BYTES_MAX, this.#bounds.segmentBytesMax / COMPACTION_SHARE);
    try {
      for (let [oldest] = this.#segments; oldest !== undefined; [oldest] = this.#segments) {
        if (oldest === this.#writer.segment || oldest.liveBytes > leftBytes) return;
        const copiedBytes = compact(oldest, this.#open, this.#writer);
        this.#bytes += copiedBytes;
        leftBytes -= copiedBytes;
        this.#syncNow();
        this.#retireSettled();
      }
    } catch (error) {
      // Without room for the copies, or a descriptor to read it by, the old segment just stays.
      if (shortageOf(error) === null) throw error;
    }
  }

  /**
   * Removes the oldest segments that hold no record of an open request. Oldest first only: the word that a request is
   * settled lies in its start's segment or a later one, so it never goes before the start does.
   */
  #retireSettled(): void {
    for (let [oldest] = this.#segments; oldest !== undefined; [oldest] = this.#segments) {
      if (oldest === this.#writer.segment || oldest.liveRecords > 0) return;
      this.#retired.add(oldest);
      this.#segments.shift();
      this.#bytes -= oldest.bytes;
    }
  }
}

function closedError(directory: string): JournalError {
  return new JournalError('closed', `the journal in ${directory} is closed`);
}
