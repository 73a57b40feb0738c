import { expect, test } from 'vitest';
import { requestBody, requestText } from '../request-body.ts';
import { stampsIn } from '../stamps.ts';
import {
  answerKindOf,
  BURST_ANSWER,
  BURST_EVENTS,
  JSON_BODY,
  MODELS,
  PACED_EVENTS,
  PACED_WRITES,
  SLOW_EVENTS,
  slowWrite,
  streamOf,
} from './answers.ts';

const KINDS = ['json', 'burst', 'paced', 'slow'] as const;

test('the JSON answer is a Message of 600 bytes', () => {
  expect(JSON_BODY).toHaveLength(600);
  expect(JSON.parse(JSON_BODY.toString())).toMatchObject({ type: 'message', usage: { output_tokens: 73 } });
});

test('a stream has as many events as it says, from message_start to message_stop', () => {
  expect(BURST_ANSWER.toString().match(/^event: /gm)).toHaveLength(BURST_EVENTS);
  const events = streamOf(10).map((event) => JSON.parse(/data: (.*)/.exec(event.toString())?.[1] ?? '').type);
  expect([events.length, events[0], events.at(-1)]).toEqual([10, 'message_start', 'message_stop']);
  expect(PACED_WRITES).toHaveLength(PACED_EVENTS);
  expect(PACED_WRITES.filter((bytes) => bytes.includes('0\r\n\r\n'))).toEqual([PACED_WRITES.at(-1)]);
});

test("a slow stream's events say when they were sent, but for those that begin and end it", () => {
  const writes = Array.from({ length: SLOW_EVENTS }, (_, index) => slowWrite(index, 7_000_000 + index));
  expect(writes.flatMap((bytes) => stampsIn(bytes))).toEqual(
    Array.from({ length: SLOW_EVENTS - 5 }, (_, index) => 7_000_002 + index),
  );
  const types = writes.map((bytes) => JSON.parse(/data: (.*)/.exec(bytes.toString())?.[1] ?? '').type);
  expect([types[0], types[2], types.at(-1)]).toEqual(['message_start', 'content_block_delta', 'message_stop']);
  expect(writes.filter((bytes) => bytes.includes('0\r\n\r\n'))).toEqual([writes.at(-1)]);
});

test.each(KINDS)('a %s request is known by its model', (kind) => {
  const text = requestText({ port: 80, headers: { 'x-api-key': 'k' } }, requestBody(kind, 'small'));
  expect(answerKindOf(Buffer.from(text))).toBe(kind);
  expect(text).toContain(MODELS[kind]);
});

test('any other model is refused', () => {
  expect(() => answerKindOf(Buffer.from('{"model":"opal-large"}'))).toThrow('without a model of the benchmark');
});

test('requests are of about 1 KB and 20 KB, with their length in the head', () => {
  const [small, large] = [requestBody('json', 'small'), requestBody('json', 'large')];
  expect([small.length / 1_000, large.length / 20_000].every((share) => share > 0.8 && share < 1.2)).toBe(true);
  expect(requestText({ port: 80, headers: {} }, small)).toContain(`content-length: ${small.length}\r\n`);
});
