import { afterAll, expect, it } from 'vitest';
import { asking, call, get, post } from '../fixtures/gateway/call.ts';
import { startOnUpstream } from '../fixtures/gateway/start-on-upstream.ts';

const { gateway } = await startOnUpstream(afterAll);

it.each(['/messages', '/messages/count_tokens'])('%s answers like the same path below /v1', async (path) => {
  const body = asking('opal-medium');
  const asked = path === '/messages' ? body : { model: body.model, messages: body.messages };
  const [short, long] = [await post(gateway, path, asked), await post(gateway, `/v1${path}`, asked)];
  expect([short.status, short.body]).toEqual([200, long.body]);
});

it.each(['/v1/models', '/v1/models/opal-medium', '/pricing', '/catalog', '/me', '/status', '/healthz', '/readyz'])(
  'HEAD %s has the head of its GET and no body',
  async (path) => {
    const headers = { 'x-api-key': gateway.key };
    const [head, whole] = [await call(gateway.url, path, { method: 'HEAD', headers }), await get(gateway, path)];
    expect([head.status, head.text]).toEqual([200, '']);
    expect(head.headers['content-length']).toBe(whole.headers['content-length']);
  },
);

it('a stream is not to be kept in a buffer by a proxy on its way, and another answer says nothing of that', async () => {
  const stream = await post(gateway, '/v1/messages', asking('opal-medium', { stream: true }));
  expect(stream.headers).toMatchObject({ 'cache-control': 'no-cache', 'x-accel-buffering': 'no' });
  const whole = await post(gateway, '/v1/messages', asking('opal-medium'));
  expect([whole.headers['cache-control'], whole.headers['x-accel-buffering']]).toEqual([undefined, undefined]);
});
