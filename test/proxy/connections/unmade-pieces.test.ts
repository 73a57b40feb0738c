import { describe, expect, it } from 'vitest';
import { UnmadePieces } from '../../../proxy/connections/unmade-pieces.ts';
import { CHUNK_BYTES_MIN, TURN_BYTES, UNWANTED_SHORT_CHUNKS_MAX } from '../../../proxy/request-body/limits.ts';

/** Reads of so many bytes, each parsed as so many pieces; how many there were before they were too short, or null. */
function untilCrumbs(bytesBefore: number, reads: readonly (readonly [bytes: number, pieces: number])[]): number | null {
  const socket = { bytesRead: bytesBefore };
  const pieces = new UnmadePieces(socket);
  let count = 0;
  for (const [bytes, ofRead] of reads) {
    socket.bytesRead += bytes;
    for (let piece = 0; piece < ofRead; piece++, count++) if (pieces.add()) return count;
  }
  return null;
}

const MAX = UNWANTED_SHORT_CHUNKS_MAX;

describe('pieces of which none is made', () => {
  it('may be short in the beginning', () => {
    expect(untilCrumbs(0, Array(MAX).fill([1, 1]))).toBeNull();
    expect(untilCrumbs(0, Array(MAX + 2).fill([1, 1]))).toBe(MAX + 1);
  });

  it('may be as many as their read has bytes for, however many of one read there are', () => {
    expect(untilCrumbs(0, Array(100).fill([TURN_BYTES, TURN_BYTES / CHUNK_BYTES_MIN]))).toBeNull();
    expect(untilCrumbs(0, [[TURN_BYTES, TURN_BYTES / 6]])).toBe(MAX + TURN_BYTES / CHUNK_BYTES_MIN);
  });

  it('are not saved up for: long ones before make up for no more than the first', () => {
    const long = Array(100).fill([TURN_BYTES, 1]);
    expect(untilCrumbs(0, [...long, ...Array(MAX + 2).fill([1, 1])])).toBeGreaterThan(100 + MAX / 2);
    expect(untilCrumbs(0, [...long, [MAX, 2 * MAX + 3]])).toBe(100 + MAX + 1);
  });

  it('that came with the head have the bytes of one read', () => {
    expect(untilCrumbs(10 * TURN_BYTES, [[0, TURN_BYTES / CHUNK_BYTES_MIN]])).toBeNull();
    expect(untilCrumbs(640, [[0, 1_000]])).toBe(MAX + 10);
  });
});

it('says how much the connection has brought since', () => {
  const socket = { bytesRead: 1_000 };
  const pieces = new UnmadePieces(socket);
  socket.bytesRead += 500;
  expect(pieces.bytes).toBe(500);
});
