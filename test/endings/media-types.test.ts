import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { postMessage, recorded } from '../fixtures/gateway/post-message.ts';
import type { TestGateway } from '../fixtures/gateway/start-gateway.ts';
import { startOnUpstream } from '../fixtures/gateway/start-on-upstream.ts';
import { end, head, json, write } from '../upstream/answer.ts';
import { message } from '../upstream/message.ts';
import { streamEvents } from '../upstream/stream-events.ts';
import type { Upstream } from '../upstream/upstream.ts';

let upstream: Upstream;
let gateway: TestGateway;
beforeEach(async () => {
  ({ upstream, gateway } = await startOnUpstream(onTestFinished));
});

const tokens = { input: 1_000, output: 40, cacheRead: 0, cacheWrite5m: 0, cacheWrite1h: 0 };

it.each([['text/event-stream'], ['Text/Event-Stream; charset=UTF-8'], [' text/event-stream;x=1'], [undefined]])(
  'a stream of the media type %s is metered and ends as it ended',
  async (type) => {
    const chunks = streamEvents({ tokens });
    upstream.answerWith([head(200, type === undefined ? {} : { 'content-type': type }), ...chunks.map(write), end]);
    const answer = await postMessage(gateway, { stream: true });
    expect(answer.headers['content-type']).toBe(type?.trim() ?? 'text/event-stream; charset=utf-8');
    const { body, isCut } = await answer.restOrCut();
    expect([body.equals(Buffer.concat(chunks.map((chunk) => Buffer.from(chunk)))), isCut]).toEqual([true, false]);
    await expect.poll(async () => (await recorded(gateway)).usages).toMatchObject([{ outcome: 'completed', tokens }]);
  },
);

it('an answer without a media type to a request for no stream is read as JSON', async () => {
  const bytes = JSON.stringify(message({ tokens }));
  upstream.answerWith([head(200, { 'content-length': Buffer.byteLength(bytes) }), write(bytes), end]);
  const answer = await postMessage(gateway);
  expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
  await answer.rest();
  await expect.poll(async () => (await recorded(gateway)).usages).toMatchObject([{ outcome: 'completed', tokens }]);
});

it('a message id of any length leaves its request billed, with as much of the id as a header may have', async () => {
  const id = 'm'.repeat(300_000);
  upstream.answerWith(json({ ...message({ tokens }), id }));
  await (await postMessage(gateway)).rest();
  await expect
    .poll(async () => (await recorded(gateway)).usages)
    .toMatchObject([{ outcome: 'completed', tokens, upstream: { requestId: 'm'.repeat(200) } }]);
});
