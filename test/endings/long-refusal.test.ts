import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { postMessage, recorded } from '../fixtures/gateway/post-message.ts';
import type { TestGateway } from '../fixtures/gateway/start-gateway.ts';
import { startOnUpstream } from '../fixtures/gateway/start-on-upstream.ts';
import { head, silence, write } from '../upstream/answer.ts';
import type { Upstream } from '../upstream/upstream.ts';

let upstream: Upstream;
let gateway: TestGateway;
beforeEach(async () => {
  ({ upstream, gateway } = await startOnUpstream(onTestFinished));
});

it("an upstream's refusal that does not end is told past its bound, and the upstream is left", async () => {
  upstream.answerWith([head(400), ...Array(3).fill(write('x'.repeat(1024 * 1024))), silence]);
  const answer = await postMessage(gateway, { stream: true });
  expect(answer.status).toBe(400);
  expect(String(await answer.rest())).toContain('the model refused the request, and what it said cannot be passed on');
  await (await upstream.seen(0)).over;
  expect((await recorded(gateway)).usages).toMatchObject([{ outcome: 'upstream_refused', billable: false }]);
});
