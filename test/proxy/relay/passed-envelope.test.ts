import { describe, expect, it } from 'vitest';
import { passedEnvelope } from '../../../proxy/relay/passed-envelope.ts';

const passed = (status: number, body: unknown) => {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const envelope = passedEnvelope(status, Buffer.from(text), 'req_ours');
  return { status: envelope.status, body: JSON.parse(envelope.body) };
};
const said = (type: string, more: object = {}) => ({ type: 'error', error: { type, message: 'too long', ...more } });

describe('what an upstream says of a request', () => {
  it.each([
    [400, 'invalid_request_error', 400, 'invalid_request_error'],
    [413, 'request_too_large', 400, 'invalid_request_error'],
    [422, 'unprocessable', 400, 'invalid_request_error'],
    [404, 'not_found_error', 404, 'not_found_error'],
    [404, 'model_missing', 404, 'not_found_error'],
  ])('%i %s is told as %i %s, with its message', (status, type, toldStatus, toldType) => {
    expect(passed(status, said(type))).toEqual({
      status: toldStatus,
      body: { ...said(toldType), request_id: 'req_ours' },
    });
  });

  it('has our request id, and what else it had', () => {
    const body = { ...said('invalid_request_error', { details: { a: 1 } }), request_id: 'req_theirs', more: [1] };
    expect(passed(400, body).body).toEqual({ ...body, request_id: 'req_ours' });
  });

  it.each([
    ['<html>no</html>', 'the model refused the request: <html>no</html>'],
    ['', 'the model refused the request'],
    ['[1]', 'the model refused the request: [1]'],
    ['{"error":"no"}', 'the model refused the request: {"error":"no"}'],
    ['x'.repeat(5_000), `the model refused the request: ${'x'.repeat(1_000)}`],
  ])('is quoted in the envelope where it is none: %.20s', (text, message) => {
    const error = { type: 'invalid_request_error', message };
    expect(passed(400, text)).toEqual({ status: 400, body: { type: 'error', error, request_id: 'req_ours' } });
  });
});
