import { afterAll, beforeAll, expect, it } from 'vitest';
import { dumpViews } from '../gateway/dump-views.ts';
import { postMessage, recorded } from '../gateway/post-message.ts';
import { startTestGateway, type TestGateway } from '../gateway/start-gateway.ts';
import { startUpstream, type Upstream } from '../upstream/upstream.ts';

/** Rule 4: deleting every view and rebuilding gives the same answers, byte for byte. */
let upstream: Upstream;
beforeAll(async () => {
  upstream = await startUpstream();
});
afterAll(() => upstream.close());

const me = async ({ url, key }: TestGateway): Promise<unknown> =>
  (await fetch(`${url}/me`, { headers: { 'x-api-key': key } })).json();

it('has identical views after views.db was deleted', async () => {
  let gateway = await startTestGateway({ upstreamUrl: upstream.url });
  const again = { upstreamUrl: upstream.url, data: gateway.data };
  for (const isStream of [true, false, true, false, true]) {
    const answer = await postMessage(gateway, { stream: isStream, model: isStream ? 'opal-medium' : 'opal-old' });
    await answer.rest();
  }
  await recorded(gateway);
  const before = await me(gateway);
  await gateway.stop();
  const rows = dumpViews(gateway.data, { remove: true });
  expect(rows.length).toBeGreaterThan(4);

  gateway = await startTestGateway(again);
  expect(await me(gateway)).toEqual(before);
  await gateway.stop();
  expect(dumpViews(gateway.data, { remove: false })).toEqual(rows);

  // And from the rows themselves.
  gateway = await startTestGateway(again);
  expect(await me(gateway)).toEqual(before);
  await gateway.stop();
});
