import { SeededRandom } from '../fixtures/seeded-random.ts';

/** The same bytes in other chunks. None of these makes an empty chunk, which HTTP could not carry. */

/** Everything in one chunk. */
export function oneChunk(chunks: readonly Uint8Array[]): Buffer[] {
  const bytes = Buffer.concat(chunks);
  return bytes.length === 0 ? [] : [bytes];
}

/** A chunk for each byte: every cut there can be, in one stream. */
export const byteByByte = (chunks: readonly Uint8Array[]): Buffer[] => cutEvery(chunks, 1);

export function cutEvery(chunks: readonly Uint8Array[], bytes: number): Buffer[] {
  if (!Number.isInteger(bytes) || bytes < 1) throw new RangeError(`a chunk has at least 1 byte, got ${bytes}`);
  const whole = Buffer.concat(chunks);
  return Array.from({ length: Math.ceil(whole.length / bytes) }, (_, index) =>
    whole.subarray(index * bytes, (index + 1) * bytes),
  );
}

/** Cut before each of these offsets; offsets outside the bytes, and repeated ones, cut nothing. */
export function cutAt(chunks: readonly Uint8Array[], offsets: readonly number[]): Buffer[] {
  const whole = Buffer.concat(chunks);
  const cuts = [...new Set([0, ...offsets.filter((offset) => offset > 0 && offset < whole.length)])];
  cuts.sort((a, b) => a - b);
  return whole.length === 0 ? [] : cuts.map((start, index) => whole.subarray(start, cuts[index + 1]));
}

/** Chunks of 1 to `bytesMax` bytes; the same seed cuts the same way. */
export function cutAtRandom(chunks: readonly Uint8Array[], seed: number, bytesMax = 200): Buffer[] {
  const whole = Buffer.concat(chunks);
  const random = new SeededRandom(seed);
  const pieces: Buffer[] = [];
  for (let at = 0; at < whole.length; ) {
    const next = at + random.whole(1, bytesMax);
    pieces.push(whole.subarray(at, next));
    at = next;
  }
  return pieces;
}
