import { afterAll, describe, expect, it } from 'vitest';
import { modelListSchema } from '../../../contracts/answers.ts';
import { microUsd } from '../../../contracts/money.ts';
import { asking, get, post, refusalOf } from '../../fixtures/gateway/call.ts';
import { startOnUpstream } from '../../fixtures/gateway/start-on-upstream.ts';
import { failure, head, reset, write } from '../../upstream/answer.ts';
import { defaultAnswer } from '../../upstream/default-answer.ts';

/** opal-old of the test's catalog is deprecated until the first moment of 2099-12-31 (UTC); opal-gone is retired. */
const SUNSET = Date.parse('2099-12-31T00:00:00.000Z');
const DEPRECATION = 'sunset=2099-12-31; replacement=opal-medium';
const GONE = 'is retired: use opal-medium; the request shape is unchanged';
let nowMs = Date.parse('2026-05-15T12:00:00.000Z');
const { upstream, gateway } = await startOnUpstream(afterAll, { clock: () => nowMs });

const send = (model: string, more: object = {}) => post(gateway, '/v1/messages', asking(model, more));
const count = (model: string) => post(gateway, '/v1/messages/count_tokens', asking(model));
const listed = async () =>
  modelListSchema.parse((await get(gateway, '/v1/models')).body).data.map(({ id, status }) => [id, status]);

it('an active model answers without a deprecation header', async () => {
  for (const answered of [
    await send('opal-medium'),
    await send('opal-medium', { stream: true }),
    await count('opal-medium'),
  ]) {
    expect(answered.status).toBe(200);
    expect(answered.headers).not.toHaveProperty('x-svc-deprecation');
  }
});

describe('a deprecated model', () => {
  it('answers as ever, with the date and the replacement in a header', async () => {
    for (const answered of [
      await send('opal-old'),
      await send('opal-old', { stream: true }),
      await count('opal-old'),
    ]) {
      expect(answered.status).toBe(200);
      expect(answered.headers['x-svc-deprecation']).toBe(DEPRECATION);
    }
  });

  it.each([400, 404, 413, 422])('carries the header on a %s that the upstream sends', async (status) => {
    upstream.answerWith(failure(status));
    const answered = await send('opal-old');
    upstream.answerWith(defaultAnswer);
    expect(answered.status).toBe(status === 404 ? 404 : 400);
    expect(answered.headers['x-svc-deprecation']).toBe(DEPRECATION);
  });

  it.each([
    [502, failure(500)],
    [502, failure(401)],
    [502, [reset]],
    [529, failure(529)],
  ] as const)('carries the header on a %s of the gateway', async (status, answer) => {
    upstream.answerWith(answer);
    const answered = await send('opal-old');
    const counted = await count('opal-old');
    upstream.answerWith(defaultAnswer);
    refusalOf(answered, status);
    expect(answered.headers['x-svc-deprecation']).toBe(DEPRECATION);
    expect(counted.headers['x-svc-deprecation']).toBe(DEPRECATION);
  });

  it('carries the header on a stream that breaks off', async () => {
    upstream.answerWith([head(), write('event: ping\ndata: {"type":"ping"}\n\n'), reset]);
    const url = `${gateway.url}/v1/messages`;
    const headers = { 'x-api-key': gateway.key };
    const answered = await fetch(url, {
      method: 'POST',
      headers,
      body: JSON.stringify(asking('opal-old', { stream: true })),
    });
    expect(answered.headers.get('x-svc-deprecation')).toBe(DEPRECATION);
    await expect(answered.text()).rejects.toThrow();
    upstream.answerWith(defaultAnswer);
  });

  it('carries the header on a 402, too (interface, 3.2)', async () => {
    const poor = await gateway.issueKey({ monthlyLimit: microUsd(0n) });
    const answered = await post({ ...gateway, ...poor }, '/v1/messages', asking('opal-old'));
    refusalOf(answered, 402);
    expect(answered.headers['x-svc-deprecation']).toBe(DEPRECATION);
  });

  it('is retired from the first moment of its date, by the clock alone', async () => {
    const before = nowMs;
    nowMs = SUNSET - 1;
    expect((await send('opal-old')).headers['x-svc-deprecation']).toBe(DEPRECATION);
    expect(await listed()).toContainEqual(['opal-old', 'deprecated']);
    nowMs = SUNSET;
    const sent = upstream.requests.length;
    expect(refusalOf(await send('opal-old'), 410)).toBe(`model opal-old ${GONE}`);
    expect(refusalOf(await count('opal-old'), 410)).toBe(`model opal-old ${GONE}`);
    expect((await listed()).map(([id]) => id)).not.toContain('opal-old');
    expect(upstream.requests.length).toBe(sent);
    nowMs = before;
    expect((await send('opal-old')).status).toBe(200);
  });
});

describe('a retired model', () => {
  it('is a 410 that names the replacement and says that the request shape is unchanged', async () => {
    for (const answered of [
      await send('opal-gone'),
      await send('opal-gone', { stream: true }),
      await count('opal-gone'),
    ]) {
      expect(refusalOf(answered, 410)).toBe(`model opal-gone ${GONE}`);
      expect(answered.headers).not.toHaveProperty('x-svc-deprecation');
    }
  });

  it('stands in no list', async () => {
    expect((await listed()).map(([id]) => id)).not.toContain('opal-gone');
    for (const path of ['/catalog', '/pricing']) expect((await get(gateway, path)).text).not.toContain('opal-gone');
    expect(refusalOf(await get(gateway, '/v1/models/opal-gone'), 410)).toBe(`model opal-gone ${GONE}`);
  });
});

it('a model that the catalog does not have is a 404 that says its name, cut to 128 letters', async () => {
  expect(refusalOf(await send('opal-none'), 404)).toBe('model: there is no model "opal-none"');
  expect(refusalOf(await send('OPAL-MEDIUM'), 404)).toBe('model: there is no model "OPAL-MEDIUM"');
  expect(refusalOf(await count('x'.repeat(1_000)), 404)).toBe(`model: there is no model "${'x'.repeat(128)}"`);
});
