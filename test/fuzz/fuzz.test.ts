import { expect, it } from 'vitest';
import { SeededRandom } from '../fixtures/seeded-random.ts';
import { fuzzCase } from './fuzz-cases.ts';
import { fuzzRun } from './fuzz-run.ts';
import { judge } from './judge.ts';

/** The short form of `npm run fuzz`: always the same cases, among them one that has been answered wrong. */
it('answers faults of callers and upstreams within the envelope, and serves on', async () => {
  const { cases, faults } = await fuzzRun({ seed: 1_001_900, casesMax: 600, msMax: 60_000 });
  expect(faults).toEqual([]);
  for (const count of Object.values(cases)) expect(count).toBeGreaterThan(0);
});

it('goes on where a connection ends by a reset', async () => {
  // It sends more behind the last request of a connection.
  const { cases } = await fuzzRun({ seed: 312_524_270, casesMax: 1, msMax: 60_000 });
  expect(Object.values(cases).reduce((sum, count) => sum + count)).toBe(1);
});

it('draws the same case from the same seed', () => {
  expect(fuzzCase(new SeededRandom(7), 'key')).toEqual(fuzzCase(new SeededRandom(7), 'key'));
});

const answer = (status: string, body: string, more = ''): Buffer =>
  Buffer.from(`HTTP/1.1 ${status}\r\nrequest-id: req_1\r\ncontent-length: ${body.length}${more}\r\n\r\n${body}`);
const envelope = (type: string): string => JSON.stringify({ type: 'error', error: { type, message: 'no' } });

it.each([
  ['what is no HTTP', Buffer.from('hello'), 'no HTTP'],
  ['a 500', answer('500 No', envelope('api_error')), '5xx'],
  ['a 502', answer('502 No', envelope('api_error')), '5xx'],
  ['two answers', Buffer.concat([answer('200 OK', '{}'), answer('200 OK', '{}')]), '2 answers'],
  ['no answer', Buffer.alloc(0), '0 answers'],
  ['a page', answer('400 No', '<html>'), 'envelope'],
  ['another type', answer('400 No', envelope('api_error')), 'envelope'],
  ['a status of its own', answer('417 No', envelope('api_error')), 'table'],
  ['half an error', answer('400 No', envelope('invalid_request_error')).subarray(0, -3), 'cut'],
])('calls %s a fault', (_title, received, words) => {
  const one = { kind: 'body', request: received, isFramingWhole: true, answer: received, passedOn: null } as const;
  expect(judge(one, received)).toContain(words);
  expect(judge(one, answer('400 No', envelope('invalid_request_error')))).toBe(null);
});

it('calls other bytes than the upstream has said a fault', () => {
  const said = Buffer.from('{"a":1}');
  const one = { kind: 'answer', request: said, isFramingWhole: true, answer: said, passedOn: said } as const;
  const stream = '\r\ncontent-type: text/event-stream';
  expect(judge(one, answer('200 OK', '{"a":1}'))).toBe(null);
  expect(judge(one, answer('200 OK', '{"a":'))).toContain('other bytes');
  expect(judge(one, answer('200 OK', '{"a":', stream))).toBe(null);
  expect(judge(one, answer('200 OK', '{"b":', stream))).toContain('other bytes');
  expect(judge(one, answer('502 No', envelope('api_error')))).toBe(null);
});
