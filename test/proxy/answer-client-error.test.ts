import { expect, it } from 'vitest';
import { answerClientError } from '../../proxy/answer-client-error.ts';
import { newRequestId } from '../../proxy/request-id.ts';

const underWay = (headersSent: boolean, complete: boolean) => ({
  headersSent,
  req: { complete },
  shouldKeepAlive: true,
  _last: false,
});

type Parser = Parameters<typeof answerClientError>[1]['parser'];

function answeredTo(code: string, answer: ReturnType<typeof underWay> | null = null, parser: Parser = null): string {
  let written = '';
  const end = (text: string): void => {
    written = text;
  };
  const destroy = (): void => {
    written = 'destroyed';
  };
  const socket = { writable: true, _httpMessage: answer, parser, end, destroy };
  answerClientError(Object.assign(new Error(code), { code }), socket, () => newRequestId(0));
  return written;
}

it.each([
  ['HPE_HEADER_OVERFLOW', 'the headers are too long or too many'],
  ['ERR_HTTP_REQUEST_TIMEOUT', 'the request did not come whole in time'],
  ['HPE_INVALID_METHOD', 'the request is not valid HTTP'],
])('%s is told as what it is, in the envelope', (code, message) => {
  const [head = '', body = ''] = answeredTo(code).split('\r\n\r\n');
  expect(head).toMatch(/^HTTP\/1\.1 400 /);
  const [, id] = /\r\nrequest-id: (req_\w+)(?:\r\n|$)/.exec(head) ?? [];
  expect(id).toBeDefined();
  const error = { type: 'invalid_request_error', message };
  expect(JSON.parse(body)).toEqual({ type: 'error', error, request_id: id });
});

it('nothing is written into an answer that has begun', () => {
  expect(answeredTo('HPE_INVALID_CHUNK_SIZE', underWay(true, false))).toBe('destroyed');
  expect(answeredTo('ECONNRESET')).toBe('destroyed');
});

it.each([
  ['in the middle of its body', false, ''],
  ['whole', true, expect.stringMatching(/^HTTP\/1\.1 400 /)],
])('behind the answer to a request that came %s', (_what, complete, written) => {
  expect(answeredTo('HPE_INVALID_CHUNK_SIZE', null, { incoming: { complete } })).toEqual(written);
});

it('a request whose own body is at fault is told so', () => {
  expect(answeredTo('HPE_INVALID_CHUNK_SIZE', underWay(false, false))).toMatch(/^HTTP\/1\.1 400 /);
});

it.each([true, false])('what stands behind a whole request leaves its answer alone (begun: %s)', (headersSent) => {
  const answer = underWay(headersSent, true);
  expect(answeredTo('HPE_INVALID_METHOD', answer)).toBe('');
  expect(answer).toMatchObject({ shouldKeepAlive: false, _last: true });
});
