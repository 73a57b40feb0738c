import { afterAll, expect, it } from 'vitest';
import { postMessage, recorded } from '../fixtures/gateway/post-message.ts';
import { startOnUpstream } from '../fixtures/gateway/start-on-upstream.ts';
import { type Answer, delay, end, head, json, raw, write } from '../upstream/answer.ts';
import { message } from '../upstream/message.ts';
import { streamEvents } from '../upstream/stream-events.ts';

/** Of a call until its answer begins. */
const FIRST_BYTE_MS = 2_000;
const { upstream, gateway } = await startOnUpstream(afterAll, { provider: { firstByteMs: FIRST_BYTE_MS } });

const tokens = { input: 1_000, output: 40, cacheRead: 0, cacheWrite5m: 0, cacheWrite1h: 0 };
const processing = raw('HTTP/1.1 102 Processing\r\n\r\n');

it('an answer that is announced again and again has to begin by the time that a silent one has', async () => {
  const times = (3 * FIRST_BYTE_MS) / 50;
  const announced: Answer = Array.from({ length: times }, () => [processing, delay(50)]).flat();
  upstream.answerWith([...announced, ...json(message({ tokens }))]);
  const got = await postMessage(gateway);
  expect(JSON.parse(String(await got.rest()))).toMatchObject({
    error: { message: expect.stringContaining('did not answer in time') },
  });
  expect(got.status).toBe(502);
});

it.each([
  [1_000, 200],
  [3_000, 502],
])('of %i announcements at once the answer behind them is %i', async (times, status) => {
  upstream.answerWith([raw('HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(times)), ...json(message({ tokens }))]);
  const got = await postMessage(gateway);
  expect([got.status, JSON.parse(String(await got.rest()))]).toMatchObject([status, {}]);
});

it('and has its time once it has begun', async () => {
  const [first = '', ...others] = streamEvents({ tokens });
  const rest = others.map(write);
  upstream.answerWith([processing, head(), write(first), delay(FIRST_BYTE_MS + 100), ...rest, end]);
  const got = await postMessage(gateway, { stream: true });
  expect([got.status, String(await got.rest())]).toEqual([200, expect.stringContaining('message_stop')]);
  expect((await recorded(gateway)).usages.at(-1)).toMatchObject({ outcome: 'completed', tokens });
});
