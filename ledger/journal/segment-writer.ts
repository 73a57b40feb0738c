import assert from 'node:assert/strict';
import { closeSync, fsyncSync, ftruncateSync, openSync, unlinkSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { giveToFolderOwner } from '../folder-owner.ts';
import { syncFolder } from '../sync-folder.ts';
import { SEGMENT_OFFSET_MAX } from './limits.ts';
import type { Reserve } from './reserve.ts';
import { newSegment, type Segment } from './segment.ts';
import { segmentFile } from './segment-folder.ts';
import { encodeHeader, HEADER_BYTES } from './segment-header.ts';

export interface SegmentWriter {
  readonly segment: Segment;
  readonly fd: number;
}

/**
 * Creates a segment with its header. When it returns, file, header and directory entry are on disk: a segment with a
 * record in it always has its header. @throws what the file system said; nothing is left behind.
 */
export function createSegment(directory: string, number: number): SegmentWriter {
  const path = join(directory, segmentFile(number));
  const fd = openSync(path, 'wx', 0o600);
  const writer = { segment: newSegment(number, path, 0), fd };
  try {
    giveToFolderOwner(path);
    appendBytes(writer, encodeHeader(number), HEADER_BYTES);
    fsyncSync(fd);
    syncFolder(directory);
    return writer;
  } catch (error) {
    closeSync(fd);
    unlinkSync(path);
    throw error;
  }
}

/** The next segment made of the room that is kept for the ends of requests; null where there is none. @throws as `take` */
export function segmentInReserve(reserve: Reserve, directory: string, number: number): SegmentWriter | null {
  const path = join(directory, segmentFile(number));
  const file = reserve.take(path, encodeHeader(number));
  if (file === null) return null;
  return { segment: { ...newSegment(number, path, HEADER_BYTES), roomBytes: file.bytes }, fd: file.fd };
}

/** A segment that is not written to any more ends with its last record. */
export function cutRoom({ segment, fd }: SegmentWriter): void {
  if (segment.roomBytes > segment.bytes) ftruncateSync(fd, segment.bytes);
  segment.roomBytes = 0;
}

/**
 * Appends the first `bytes` of the buffer, which are in the file (though not yet on the disk) when it returns.
 * A write may take fewer bytes than it was given. Where the rest then fails, what was written of it is cut off again,
 * so that later records stay readable. @throws what the file system said; `TornSegment` when the cut fails as well.
 */
export function appendBytes(writer: SegmentWriter, buffer: Buffer, bytes: number): void {
  const { segment, fd } = writer;
  assert(segment.bytes + bytes <= SEGMENT_OFFSET_MAX, 'offsets of a segment are 32-bit numbers');
  let written = 0;
  try {
    while (written < bytes) {
      const taken = writeSync(fd, buffer, written, bytes - written, segment.bytes + written);
      assert(taken > 0, 'a write takes at least one byte or fails');
      written += taken;
    }
  } catch (error) {
    cutOff(writer, error);
    throw error;
  }
  segment.bytes += bytes;
}

/** The segment may end in a part of a record that could not be cut off: nothing must be written after it. */
class TornSegment extends Error {
  override readonly name = 'TornSegment';
}

function cutOff(writer: SegmentWriter, writeError: unknown): void {
  try {
    ftruncateSync(writer.fd, writer.segment.bytes);
    writer.segment.roomBytes = 0;
  } catch (error) {
    const both = new AggregateError([writeError, error]);
    throw new TornSegment(`cannot cut off what was written in part of ${writer.segment.path}`, { cause: both });
  }
}
