import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { statusSchema } from '../../../contracts/answers.ts';
import { asking, call, post, refusalOf } from '../../fixtures/gateway/call.ts';
import { startTestGateway, type TestGateway } from '../../fixtures/gateway/start-gateway.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway({ upstreamUrl: 'http://127.0.0.1:9' });
});
afterAll(() => gateway.stop());

describe('a gateway that is ready', () => {
  it('says on /status what it is and how many models can be called', async () => {
    const answered = await call(gateway.url, '/status');
    expect(statusSchema.parse(answered.body)).toEqual({ name: 'model-gateway', version: '1.0.0', ok: true, models: 8 });
    expect(answered.headers['request-id']).toMatch(/^req_/);
  });

  it.each(['/healthz', '/readyz'])('says ok on %s', async (path) => {
    const { status, body } = await call(gateway.url, path);
    expect({ status, body }).toEqual({ status: 200, body: { ok: true } });
  });
});

/** The views have stopped: what they admit would be wrong. */
it('a gateway whose views stand still is not healthy, not ready, says why and admits nothing', async () => {
  const broken = await startTestGateway();
  broken.gateway.fail(new Error('the test stops the views'));
  const reason = 'the views cannot follow the ledger; the log of this gateway says why';
  expect(await call(broken.url, '/healthz')).toMatchObject({ status: 503, body: { ok: false, reason } });
  expect(await call(broken.url, '/readyz')).toMatchObject({ status: 503, body: { ok: false, reason } });
  expect(await call(broken.url, '/status')).toMatchObject({ status: 200, body: { ok: false } });
  const answered = await post(broken, '/v1/messages', asking('svc-mock'));
  expect(refusalOf(answered, 529)).toBe(reason);
  expect(answered.headers['retry-after']).toBe('5');
  await broken.stop();
});
