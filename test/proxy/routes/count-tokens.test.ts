import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { countTokensAnswerSchema } from '../../../contracts/messages.ts';
import { type Answered, asking, post, refusalOf } from '../../fixtures/gateway/call.ts';
import { startTestGateway } from '../../fixtures/gateway/start-gateway.ts';
import { startOnUpstream } from '../../fixtures/gateway/start-on-upstream.ts';
import { countTokens, failure, json, reset } from '../../upstream/answer.ts';
import { defaultAnswer } from '../../upstream/default-answer.ts';

const PATH = '/v1/messages/count_tokens';
const ASKED = { model: 'opal-medium', messages: [{ role: 'user', content: 'hello' }] };
/** A token for four bytes. */
const ESTIMATE = Math.ceil(JSON.stringify(ASKED).length / 4);
const logLines: string[] = [];
const { upstream, gateway } = await startOnUpstream(afterAll, { logLines });
beforeEach(() => upstream.answerWith(defaultAnswer));

const count = (more: object = {}, headers: Readonly<Record<string, string>> = {}) =>
  post(gateway, PATH, { ...ASKED, ...more }, headers);

describe('POST /v1/messages/count_tokens', () => {
  it("gives the upstream's count, not marked as an estimate", async () => {
    upstream.answerWith(countTokens(4_711));
    const answered = await count();
    expect(countTokensAnswerSchema.parse(answered.body)).toEqual({ input_tokens: 4_711 });
    expect(answered.status).toBe(200);
    expect(answered.headers).not.toHaveProperty('x-svc-token-count');
    expect(answered.headers['request-id']).toMatch(/^req_/);
  });

  it("forwards the caller's bytes with the upstream's credential and the caller's version and the betas that pass", async () => {
    const body = `{ "model":"opal-medium", "messages":[{"role":"user","content":"h\\u00e9llo"}] , "tools": [] }`;
    const seen = upstream.seen(upstream.requests.length);
    const version = { 'anthropic-version': '2026-10-21' };
    const betas = 'token-counting-2024-11-01, next';
    await post(gateway, `${PATH}?beta=true`, body, { ...version, 'anthropic-beta': betas });
    const { body: bytes, headers, path } = await seen;
    expect([bytes.toString(), path]).toEqual([body, PATH]);
    expect(headers).toMatchObject({
      ...version,
      'anthropic-beta': 'token-counting-2024-11-01',
      'x-api-key': 'upstream-secret-key',
    });
    expect(JSON.stringify(headers)).not.toContain(gateway.key);
  });

  it.each([['/v1/messages'], [PATH]])(
    'refuses what no version can be instead of sending it on, for %s',
    async (path) => {
      const sent = upstream.requests.length;
      for (const version of ['x'.repeat(65), '2023-06-01\u00e9']) {
        const refused = await post(gateway, path, asking('opal-medium'), { 'anthropic-version': version });
        expect(refusalOf(refused, 400)).toMatch(/^anthropic-version: expected at most 64 printable ASCII characters/);
      }
      expect(upstream.requests.length).toBe(sent);
      expect((await post(gateway, path, asking('opal-medium'), { 'anthropic-version': 'x'.repeat(64) })).status).toBe(
        200,
      );
    },
  );

  it('names the model as the upstream calls it and leaves out what a count does not take', async () => {
    const seen = upstream.seen(upstream.requests.length);
    expect(
      (await count(asking('opal-renamed', { stream: true, temperature: 1, top_k: 5, container: 'c', next: 1 }))).status,
    ).toBe(200);
    expect(JSON.parse((await seen).body.toString())).toEqual({ ...ASKED, model: 'name-upstream' });
  });

  it('charges, holds and records nothing', async () => {
    // What a test before has asked for is charged.
    await gateway.gateway.process.settlement.idle();
    const before = await gateway.log.headPosition();
    for (let index = 0; index < 3; index++) expect((await count()).status).toBe(200);
    await gateway.gateway.process.settlement.idle();
    expect(await gateway.log.headPosition()).toBe(before);
  });

  it('counts for the free model', async () => {
    const answered = await count({ model: 'svc-mock' });
    expect(countTokensAnswerSchema.parse(answered.body).input_tokens).toBeGreaterThan(0);
    expect(answered.headers).not.toHaveProperty('x-svc-token-count');
  });
});

describe('an upstream that does not count', () => {
  it.each([400, 413, 422])('passes its %s on, with its message', async (status) => {
    const body = { type: 'error', error: { type: 'invalid_request_error', message: 'prompt is too long' } };
    upstream.answerWith(failure(status, body, { 'set-cookie': 'a=b', 'x-ratelimit-limit': '1' }));
    const answered = await count();
    expect([answered.status, answered.body]).toEqual([400, { ...body, request_id: answered.headers['request-id'] }]);
    expect(answered.headers['request-id']).toMatch(/^req_[0-9a-f]{32}$/);
    expect(answered.headers).not.toHaveProperty('set-cookie');
    expect(answered.headers).not.toHaveProperty('x-ratelimit-limit');
  });

  it('passes its 400 on with what the gateway has to say of the model, and of the limits', async () => {
    upstream.answerWith(failure(400));
    const { status, headers } = await count({ model: 'opal-old' });
    expect([status, headers['x-svc-deprecation']]).toEqual([400, 'sunset=2099-12-31; replacement=opal-medium']);
    expect(headers['anthropic-ratelimit-requests-limit']).toMatch(/^\d+$/);
  });

  it.each([401, 403])(
    "says %s: it is the gateway's fault, an estimate for the caller, with an error in the log",
    async (status) => {
      upstream.answerWith(failure(status, { error: { message: 'invalid key upstream-secret-key of org 7' } }));
      logLines.length = 0;
      const answered = await count();
      expectEstimate(answered);
      const told = logLines.map((line) => JSON.parse(line)).filter(({ level }) => level >= 50);
      expect(told).toMatchObject([{ status, provider: 'test', requestId: answered.headers['request-id'] }]);
    },
  );

  it.each([
    ['404', failure(404)],
    ['405', failure(405)],
    ['500', failure(500)],
    ['503', failure(503)],
    ['529', failure(529)],
    ['a redirect', failure(302, {}, { location: 'https://elsewhere.example' })],
    ['nothing and resets', [reset]],
    ['400, encoded in a way that is not known', failure(400, {}, { 'content-encoding': 'zstd' })],
    ['a page', json('<html>', { headers: { 'content-type': 'text/html' } })],
    ['a count that is none', json({ input_tokens: '12' })],
    ['a count without end', json(`{"input_tokens":${'1'.repeat(2 * 1024 * 1024)}}`)],
  ] as const)('says %s: the answer is an estimate', async (_title, answer) => {
    upstream.answerWith(answer);
    expectEstimate(await count());
  });

  it.each([
    ['7', '7'],
    ['86400', '30'],
    ['0', '1'],
    ['soon', '2'],
  ])('says retry-after %s, which becomes %s', async (said, told) => {
    upstream.answerWith(failure(429, {}, { 'retry-after': said }));
    expect((await count()).headers['retry-after']).toBe(told);
  });

  it('has a second place that is asked next', async () => {
    upstream.answerWith((request) => (request.body.includes('first-place') ? failure(429) : countTokens(12)));
    const sent = upstream.requests.length;
    expect((await count({ model: 'opal-twice' })).body).toEqual({ input_tokens: 12 });
    expect(upstream.requests.length).toBe(sent + 2);
  });

  it('has two places that failed: told alike in either order', async () => {
    const busy = failure(429, {}, { 'retry-after': '7' });
    for (const [first, second] of [
      [busy, failure(401)],
      [failure(401), busy],
      [busy, failure(429, {}, { 'retry-after': '20' })],
      [failure(429, {}, { 'retry-after': '20' }), busy],
    ] as const) {
      upstream.answerWith((request) => (request.body.includes('first-place') ? first : second));
      const { status, headers } = await count({ model: 'opal-twice' });
      expect([status, headers['retry-after']]).toEqual([529, '7']);
    }
  });

  it('says 400 at the first place: the second is not asked', async () => {
    upstream.answerWith(failure(400));
    const sent = upstream.requests.length;
    expect((await count({ model: 'opal-twice' })).status).toBe(400);
    expect(upstream.requests.length).toBe(sent + 1);
  });
});

function expectEstimate(answered: Answered): void {
  expect(answered.status).toBe(200);
  expect(countTokensAnswerSchema.parse(answered.body)).toEqual({ input_tokens: ESTIMATE });
  expect(answered.headers['x-svc-token-count']).toBe('estimate');
}

it('a provider that is configured not to count is not asked: the answer is an estimate that says so', async () => {
  const estimating = await startTestGateway({ upstreamUrl: upstream.url, provider: { countTokens: false } });
  const sent = upstream.requests.length;
  const answered = await post(estimating, PATH, ASKED);
  expectEstimate(answered);
  expect(upstream.requests.length).toBe(sent);
  await estimating.stop();
});
