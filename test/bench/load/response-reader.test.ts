import { expect, test } from 'vitest';
import { BURST_ANSWER, BURST_EVENTS, JSON_ANSWER } from '../fast-upstream/answers.ts';
import { ResponseReader } from './response-reader.ts';

/** After which of the pieces the response was complete. */
const endsAfter = (reader: ResponseReader, pieces: readonly Buffer[]) => pieces.map((piece) => reader.push(piece));

test.each([
  ['a length', JSON_ANSWER],
  ['chunks', BURST_ANSWER],
])('finds the end of a response with %s wherever it is cut', (_framing, answer) => {
  for (let cut = 1; cut < answer.length; cut++)
    expect(endsAfter(new ResponseReader(false), [answer.subarray(0, cut), answer.subarray(cut)])).toEqual([
      false,
      true,
    ]);
});

test('finds the end byte by byte, and counts the events that were not cut', () => {
  const bytes = [...BURST_ANSWER].map((byte) => Buffer.from([byte]));
  const reader = new ResponseReader(true);
  expect(endsAfter(reader, bytes).indexOf(true)).toBe(bytes.length - 1);
  expect(reader.events).toBe(0);
  reader.restart();
  expect(reader.push(BURST_ANSWER)).toBe(true);
  expect(reader.events).toBe(BURST_EVENTS);
});

test('tells the first byte of the body from the head', () => {
  const reader = new ResponseReader(false);
  const headEnd = JSON_ANSWER.indexOf('\r\n\r\n') + 4;
  reader.push(JSON_ANSWER.subarray(0, headEnd));
  expect(reader.hasBody).toBe(false);
  reader.push(JSON_ANSWER.subarray(headEnd, headEnd + 1));
  expect(reader.hasBody).toBe(true);
});

test('reads response after response', () => {
  const reader = new ResponseReader(false);
  for (const answer of [JSON_ANSWER, BURST_ANSWER, JSON_ANSWER]) {
    expect(reader.push(answer)).toBe(true);
    reader.restart();
  }
});

test('refuses a response that is not 200, and shows it', () => {
  const answer = Buffer.from('HTTP/1.1 429 Too Many Requests\r\ncontent-length: 4\r\n\r\nslow');
  expect(() => new ResponseReader(false).push(answer)).toThrow(/429 Too Many(.|\r|\n)*slow/);
});
