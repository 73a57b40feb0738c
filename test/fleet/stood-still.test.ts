import { afterEach, expect, it } from 'vitest';
import { postMessage, recorded } from '../gateway/post-message.ts';
import { startTestGateway, type TestGateway } from '../gateway/start-gateway.ts';
import { stream, wait } from '../upstream/answer.ts';
import { streamEvents } from '../upstream/stream-events.ts';
import { startUpstream, type Upstream } from '../upstream/upstream.ts';

let upstream: Upstream;
let gateway: TestGateway;
afterEach(async () => {
  await gateway.stop();
  await upstream.close();
});

const tokens = { input: 1_000, output: 40, cacheRead: 0, cacheWrite5m: 0, cacheWrite1h: 0 };
const COST = 3_600n;
const DAY_MS = 86_400_000;

/** Ends a stream when its proxy has stood still for so long; clock and monotonic clock run on as for a stopped process. */
async function streamAcross(forMs: number) {
  upstream = await startUpstream();
  let aheadMs = 0;
  const clock = (): number => Date.now() + aheadMs;
  const settings = { proxies: 'many', expiry: { lateMs: 30 * DAY_MS } };
  gateway = await startTestGateway({ upstreamUrl: upstream.url, settings, clock, monotonic: clock });
  const stoodStill = Promise.withResolvers<void>();
  const [head, ...more] = stream(streamEvents({ tokens }));
  if (head === undefined) throw new Error('a stream has a head');
  upstream.answerWith([head, wait(stoodStill.promise), ...more]);
  const answer = await postMessage(gateway, { stream: true });
  aheadMs = forMs;
  stoodStill.resolve();
  await answer.rest();
  await expect.poll(async () => (await recorded(gateway)).debits.length).toBe(1);
  return recorded(gateway);
}

it('a request that ends within its lease is debited', async () => {
  expect((await streamAcross(0)).debits).toMatchObject([{ amount: COST, leftOut: 0n }]);
});

it('a request whose lease the clock has ended under a proxy that stood still is left to an operator: its credit was free', async () => {
  const { usages, debits } = await streamAcross(DAY_MS);
  expect(usages).toMatchObject([{ outcome: 'completed', tokens, hold: 0n }]);
  expect(debits).toMatchObject([{ amount: 0n, leftOut: COST, uncovered: 0n }]);
});
