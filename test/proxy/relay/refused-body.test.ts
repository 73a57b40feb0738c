import { describe, expect, it } from 'vitest';
import { REFUSED_BODY_BYTES_MAX } from '../../../proxy/relay/limits.ts';
import { RefusedBody } from '../../../proxy/relay/refused-body.ts';
import { UpstreamWords } from '../../../proxy/upstream/upstream-words.ts';

const KEY = 'sk-upstream-0123456789';
const words = new UpstreamWords(KEY);
const REQUEST = 'req_1';
const headers = {
  contentType: 'application/json',
  contentLength: null,
  contentEncoding: null,
  requestId: null,
  retryAfterS: null,
};

describe('the body of a refusal that is passed on', () => {
  it('is without the credential, wherever it is cut, and has its length', () => {
    const body = Buffer.from(`{"error":{"message":"no ${KEY}"}}`);
    for (let cut = 0; cut <= body.length; cut++) {
      const refused = new RefusedBody(422, headers);
      refused.add(body.subarray(0, cut));
      refused.add(body.subarray(cut));
      const error = { message: 'no [redacted]', type: 'invalid_request_error' };
      const passed = Buffer.from(JSON.stringify({ error, type: 'error', request_id: REQUEST }));
      const contentLength = passed.length;
      expect(refused.end(words, REQUEST)).toEqual({
        type: 'passed',
        status: 400,
        headers: { ...headers, contentType: 'application/json; charset=utf-8', contentLength },
        body: passed,
      });
    }
  });

  it('is told in our words where it cannot be looked through', () => {
    const long = new RefusedBody(400, headers);
    long.add(Buffer.alloc(REFUSED_BODY_BYTES_MAX));
    expect(long.end(words, REQUEST)).toMatchObject({ type: 'passed' });
    long.add(Buffer.alloc(1));
    expect(long.end(words, REQUEST)).toMatchObject({ type: 'refusal', code: 'invalid_request' });
    const encoded = new RefusedBody(400, { ...headers, contentEncoding: 'gzip' });
    expect(encoded.end(words, REQUEST)).toMatchObject({ type: 'refusal', code: 'invalid_request' });
    expect(new RefusedBody(400, { ...headers, contentEncoding: 'identity' }).end(words, REQUEST)).toMatchObject({
      type: 'passed',
    });
  });
});
