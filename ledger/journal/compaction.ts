import assert from 'node:assert/strict';
import { closeSync, openSync } from 'node:fs';
import type { OpenRequests, Place } from './open-requests.ts';
import { readWhole } from './read-open-request.ts';
import { putChecksum } from './record-v1.ts';
import type { Segment } from './segment.ts';
import { appendBytes, type SegmentWriter } from './segment-writer.ts';

/**
 * Copies the records of open requests out of an old segment to the one in use, so that one long stream does not keep
 * everything that was written after it. The caller syncs before it retires the old segment. Returns the bytes copied.
 * @throws what the file system said, or that a record is not what was written; nothing has moved then.
 */
export function compact(from: Segment, open: OpenRequests, to: SegmentWriter): number {
  const places = open.placesIn(from);
  const buffer = Buffer.allocUnsafe(from.liveBytes);
  const offset = to.segment.bytes;
  const moves = readPlaces(from, places, buffer);
  for (const { place, at } of moves) putChecksum(buffer, at, at + place.bytes, to.segment.number, offset + at);
  appendBytes(to, buffer, buffer.length);
  for (const { place, at } of moves) open.move(place, to.segment, offset + at);
  return buffer.length;
}

interface Move {
  readonly place: Place;
  /** Where the record stands in the buffer. */
  readonly at: number;
}

function readPlaces(from: Segment, places: readonly Place[], buffer: Buffer): Move[] {
  const fd = openSync(from.path, 'r');
  try {
    let end = 0;
    const moves = places.map((place) => {
      const at = end;
      end += place.bytes;
      // A record that has rotted on disk must not get a fresh checksum.
      readWhole(fd, place, buffer.subarray(at, end));
      return { place, at };
    });
    assert(end === buffer.length, 'a segment knows the bytes of its live records');
    return moves;
  } finally {
    closeSync(fd);
  }
}
