import { afterAll, afterEach, beforeEach, expect } from 'vitest';
import { endedLater } from '../fixtures/ended-later.ts';
import { asking, get, post } from '../fixtures/gateway/call.ts';
import { startUpstream } from '../upstream/upstream.ts';
import { startWatchedGateway } from './watched-gateway.ts';

/** For a file's tests: after each, nothing is held or recorded but what it has had `served`, and the gateway serves on. */
export async function hostileScene() {
  const upstream = endedLater(await startUpstream(), afterAll);
  const gateway = endedLater(await startWatchedGateway({ upstreamUrl: upstream.url }), afterAll);
  const usages = async () => (await gateway.events()).filter(({ type }) => type === 'UsageRecorded').length;
  const test = { served: 0, before: { usages: 0, sent: 0 } };
  beforeEach(async () => {
    Object.assign(test, { served: 0, before: { usages: await usages(), sent: upstream.requests.length } });
  });
  afterEach(async () => {
    const { served, before } = test;
    expect(await usages()).toBe(before.usages + served);
    expect(upstream.requests.length).toBe(before.sent + served);
    expect((await get(gateway, '/me')).body).toMatchObject({ held_credits: 0 });
    expect((await post(gateway, '/v1/messages', asking('opal-medium'))).status).toBe(200);
  });
  return { upstream, gateway, usages, test };
}
