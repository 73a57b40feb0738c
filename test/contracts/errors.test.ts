import { describe, expect, test } from 'vitest';
import {
  ERROR_TABLE,
  type ErrorCode,
  type ErrorEntry,
  errorEnvelope,
  refusal,
  retryHeaders,
} from '../../contracts/errors.ts';
import { TYPE_OF_STATUS } from '../fixtures/gateway/call.ts';

const entries = Object.entries(ERROR_TABLE) as [ErrorCode, ErrorEntry][];

describe('the error table', () => {
  test.each(entries)('%s has the error.type of its status', (_code, { status, type }) => {
    expect(type).toBe(TYPE_OF_STATUS[status]);
  });

  test('has a code for each status, and no other', () => {
    const statuses = new Set(entries.map(([, { status }]) => String(status)));
    expect([...statuses].sort()).toEqual(Object.keys(TYPE_OF_STATUS));
  });

  test('asks for a retry of 529, and of no refusal that the caller must cure', () => {
    for (const [code, { status, retryAfterS }] of entries) {
      if (status === 529 || status === 429) expect(retryAfterS, code).toBeGreaterThan(0);
      if (status < 429) expect(retryAfterS, code).toBeNull();
    }
  });

  test('tells SDKs whether to try again, and when: as the refusal knows it, else as the table does', () => {
    expect(retryHeaders(refusal('upstream_overloaded', 'x', 30))).toEqual({
      'x-should-retry': 'true',
      'retry-after': '30',
    });
    expect(retryHeaders(refusal('insufficient_credits', 'x', 2))).toMatchObject({ 'x-should-retry': 'true' });
    for (const [code, { retryAfterS }] of entries)
      expect(retryHeaders(refusal(code, 'x')), code).toEqual(
        retryAfterS === null
          ? { 'x-should-retry': 'false' }
          : { 'x-should-retry': 'true', 'retry-after': String(retryAfterS) },
      );
  });

  test('says of each code when it happens, in words of its own', () => {
    const words = entries.map(([, { when }]) => when);
    expect(words.every((when) => when.length > 10)).toBe(true);
    expect(new Set(words).size).toBe(words.length);
  });
});

describe('the envelope', () => {
  test.each(entries)('of %s has the type of its entry, and the message', (code, { type }) => {
    const { error, ...envelope } = errorEnvelope(code, 'why');
    expect(envelope).toEqual({ type: 'error' });
    expect({ type: error.type, message: error.message }).toEqual({ type, message: 'why' });
  });

  test('carries the request id where there is one', () => {
    expect(errorEnvelope('internal', 'x', 'req_1')).toEqual({
      type: 'error',
      error: { type: 'api_error', message: 'x' },
      request_id: 'req_1',
    });
  });

  test('carries details for threads, which SDKs are steered by, and for nothing else', () => {
    expect(errorEnvelope('thread_unsupported', 'x').error.details).toEqual({
      error_code: 'thread_unsupported_request',
    });
    for (const [code] of entries)
      if (code !== 'thread_unsupported') expect(errorEnvelope(code, 'x').error).not.toHaveProperty('details');
  });
});

test('a refusal has a retry-after of its own only where one was given', () => {
  expect(refusal('rate_limited', 'slow down', 3)).toEqual({
    type: 'refusal',
    code: 'rate_limited',
    message: 'slow down',
    retryAfterS: 3,
  });
  expect(refusal('internal', 'x')).not.toHaveProperty('retryAfterS');
});
