import { expect, test } from 'vitest';
import { byteByByte, cutAt, cutAtRandom, cutEvery, oneChunk } from './rechunk.ts';
import { streamEvents } from './stream-events.ts';

const EVENTS = streamEvents();
const WHOLE = Buffer.concat(EVENTS);

test.each([
  ['one chunk', oneChunk(EVENTS)],
  ['byte by byte', byteByByte(EVENTS)],
  ['every 7 bytes', cutEvery(EVENTS, 7)],
  ['at offsets, in any order, some of them outside', cutAt(EVENTS, [900, 3, 3, -1, 0, WHOLE.length, 1e9])],
  ['at random', cutAtRandom(EVENTS, 1)],
])('%s keeps the bytes and makes no empty chunk', (_name, chunks) => {
  expect(Buffer.concat(chunks).equals(WHOLE)).toBe(true);
  expect(chunks.filter((chunk) => chunk.length === 0)).toEqual([]);
});

test('cuts where it is told', () => {
  expect(oneChunk(EVENTS)).toHaveLength(1);
  expect(byteByByte(EVENTS)).toHaveLength(WHOLE.length);
  expect(cutAt(EVENTS, [900, 3]).map(({ length }) => length)).toEqual([3, 897, WHOLE.length - 900]);
});

test('the same seed cuts the same way, another one does not', () => {
  const lengths = (seed: number) => cutAtRandom(EVENTS, seed).map(({ length }) => length);
  expect(lengths(1)).toEqual(lengths(1));
  expect(lengths(1)).not.toEqual(lengths(2));
  expect(Math.max(...lengths(1))).toBeLessThanOrEqual(200);
});

test('nothing stays nothing', () => {
  expect([oneChunk([]), byteByByte([]), cutAt([], [1]), cutAtRandom([], 1)]).toEqual([[], [], [], []]);
});
