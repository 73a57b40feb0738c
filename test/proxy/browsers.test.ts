import { afterAll, describe, expect, it } from 'vitest';
import { asking, call, get, post } from '../fixtures/gateway/call.ts';
import type { TestGateway } from '../fixtures/gateway/start-gateway.ts';
import { startOnUpstream } from '../fixtures/gateway/start-on-upstream.ts';

const APP = 'https://app.example';
const OTHER = 'https://other.example';
const DIRECT = 'anthropic-dangerous-direct-browser-access';
const { gateway: closed } = await startOnUpstream(afterAll);
const { gateway: open } = await startOnUpstream(afterAll, { settings: { browserOrigins: [APP] } });

const preflight = (gateway: TestGateway, path: string, origin: string, headers = `content-type,${DIRECT},x-api-key`) =>
  call(gateway.url, path, {
    method: 'OPTIONS',
    headers: { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': headers },
  });

it.each(['/pricing', '/catalog', '/status'])('what is public, %s, is readable from everywhere', async (path) => {
  const answered = await call(closed.url, path, { headers: { origin: OTHER } });
  expect([answered.status, answered.headers['access-control-allow-origin']]).toEqual([200, '*']);
});

describe('a call with a key', () => {
  it('is allowed to the pages that are named, where it says that it is on purpose', async () => {
    const asked = await preflight(open, '/v1/messages', APP);
    expect(asked.status).toBe(204);
    expect(asked.headers).toMatchObject({
      'access-control-allow-origin': APP,
      'access-control-allow-methods': expect.stringContaining('POST'),
      'access-control-allow-headers': expect.stringContaining(DIRECT),
    });
  });

  it('is allowed however the header is spelled that a browser asks for', async () => {
    const asked = await preflight(open, '/v1/messages', APP, `X-Api-Key , ${DIRECT.toUpperCase()}`);
    expect([asked.status, asked.headers['access-control-allow-origin']]).toEqual([204, APP]);
  });

  it.each([true, false])('has its answer readable there, stream %s, as are refusals', async (stream) => {
    for (const [model, status] of [
      ['opal-medium', 200],
      ['nothing', 404],
    ] as const) {
      const answered = await post(open, '/v1/messages', asking(model, { stream }), { origin: APP, [DIRECT]: 'true' });
      expect(answered.status).toBe(status);
      expect(answered.headers['access-control-allow-origin']).toBe(APP);
      expect(answered.headers['access-control-expose-headers']).toContain('request-id');
      expect(answered.headers['request-id']).toMatch(/^req_/);
    }
  });

  it.each([
    ['not to other pages', () => preflight(open, '/v1/messages', OTHER)],
    ['not without the header that says so', () => preflight(open, '/v1/messages', APP, 'x-api-key')],
    ['to none, where none is named', () => preflight(closed, '/v1/messages', APP)],
    ['not where the header says false', () => get(open, '/v1/models', { origin: APP, [DIRECT]: 'false' })],
    ['not without the header in the call', () => get(open, '/v1/models', { origin: APP })],
  ])('is allowed %s', async (_title, ask) => {
    const answered = await ask();
    expect(answered.headers).not.toHaveProperty('access-control-allow-origin');
    expect([200, 204]).toContain(answered.status);
  });

  it('has no such headers for anybody else', async () => {
    const { headers } = await post(open, '/v1/messages', asking('opal-medium'));
    expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
  });
});

describe('OPTIONS', () => {
  it.each(['/pricing', '/v1/messages', '/nowhere'])('of a page is answered as everything is: %s', async (path) => {
    const asked = await call(open.url, path, { method: 'OPTIONS', headers: { origin: APP } });
    expect(asked.headers['request-id']).toMatch(/^req_/);
    expect([204, 404]).toContain(asked.status);
    expect((await preflight(open, path, APP)).headers['request-id']).toMatch(/^req_/);
  });

  it('says what a path takes, and 404 where there is none', async () => {
    const known = await call(closed.url, '/v1/messages', { method: 'OPTIONS' });
    expect([known.status, known.headers.allow]).toEqual([204, 'POST, OPTIONS']);
    expect((await call(closed.url, '/nowhere', { method: 'OPTIONS' })).status).toBe(404);
  });
});
