import { describe, expect, it } from 'vitest';
import { refusal } from '../../../contracts/errors.ts';
import { REFUSED_BODY_BYTES_MAX } from '../../../proxy/forwarding/limits.ts';
import { RefusedBody } from '../../../proxy/forwarding/refused-body.ts';
import { UpstreamWords } from '../../../proxy/upstream/upstream-words.ts';

const KEY = 'sk-upstream-0123456789';
const words = new UpstreamWords(KEY);
const headers = {
  contentType: 'application/json',
  contentLength: null,
  contentEncoding: null,
  requestId: null,
  retryAfterS: null,
};

describe('the body of a refusal that is passed on', () => {
  it('is without the credential, wherever it is cut', () => {
    const body = Buffer.from(`{"error":{"message":"no ${KEY}"}}`);
    for (let cut = 0; cut <= body.length; cut++) {
      const refused = new RefusedBody(422, headers);
      refused.add(body.subarray(0, cut));
      refused.add(body.subarray(cut));
      expect(refused.end(words)).toEqual(refusal('invalid_request', 'no [redacted]'));
    }
  });

  it('keeps none of its pieces behind the first: one of a byte would keep all that was read with it', () => {
    const refused = new RefusedBody(422, headers);
    for (const [index, byte] of Buffer.from('{"error":{"message":"no"}}').entries()) {
      const piece = Buffer.from([byte]);
      refused.add(piece);
      if (index > 0) piece.fill(0);
    }
    expect(refused.end(words)).toEqual(refusal('invalid_request', 'no'));
  });

  it('is told in our words where it cannot be looked through', () => {
    const ours = 'the model refused the request, and what it said cannot be passed on';
    const long = new RefusedBody(400, headers);
    long.add(Buffer.alloc(REFUSED_BODY_BYTES_MAX, 'x'));
    expect(long.end(words).message).toMatch(/^the model refused the request: x+$/);
    long.add(Buffer.alloc(1));
    expect(long.end(words).message).toBe(ours);
    expect(new RefusedBody(400, { ...headers, contentEncoding: 'gzip' }).end(words).message).toBe(ours);
  });
});
