import pino from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { OtlpTracing } from '../../proxy/observation/otlp-tracing.ts';
import { asking, call, post } from '../fixtures/gateway/call.ts';
import { postMessage } from '../fixtures/gateway/post-message.ts';
import { startOnUpstream } from '../fixtures/gateway/start-on-upstream.ts';
import { attributesOf, type OtlpSpan, startCollector } from '../fixtures/span-collector.ts';
import { failure, head, json, reset, silence, wait, write } from '../upstream/answer.ts';
import { message } from '../upstream/message.ts';
import { streamEvents } from '../upstream/stream-events.ts';

/** A gateway whose clock stands still but where a test moves it, and whose spans are taken. */
async function traced() {
  const { spans, url: otlpUrl } = await startCollector();
  const tracing = new OtlpTracing({ otlpUrl, ratio: 1 }, pino({ level: 'silent' }));
  const time = { nowMs: Date.parse('2026-11-22T12:00:00Z') };
  const accessLines: string[] = [];
  const options = { tracing, accessLines, clock: () => time.nowMs, provider: { onClientDisconnect: 'cancel' } };
  const started = await startOnUpstream(onTestFinished, options);
  return {
    ...{ ...started, time, accessLines },
    ask: async (model: string) => (await post(started.gateway, '/v1/messages', asking(model))).status,
    /** Of all requests until now: calls and requests, each in the order of their ends. */
    ended: async () => {
      await tracing.close();
      const [calls, requests] = [3, 2].map((kind) => spans.filter((span) => span.kind === kind).map(told));
      return { calls, requests, spans };
    },
  };
}

const told = (span: OtlpSpan) => ({
  ...{ name: span.name, status: span.status.code, 'error.type': attributesOf(span)['error.type'] },
  http: attributesOf(span)['http.response.status_code'],
});
const callTo = (model: string, error?: string) => ({
  ...{ name: `chat ${model}`, status: error === undefined ? 0 : 2, 'error.type': error, http: undefined },
});
const requested = (http: number, error?: string) => ({
  ...{ name: 'POST /v1/messages', status: http >= 500 ? 2 : 0, 'error.type': error, http },
});

it('what upstreams refuse, or do not answer, is an error of the call by its status or its connection; of the request where it is no fault of its caller', async () => {
  const { upstream, ask, ended } = await traced();
  upstream.answerWith(failure(500));
  expect(await ask('opal-medium')).toBe(502);
  upstream.answerWith(failure(400));
  expect(await ask('opal-medium')).toBe(400);
  upstream.answerWith([reset]);
  expect(await ask('opal-medium')).toBe(502);
  const { calls, requests, spans } = await ended();
  expect([calls, requests]).toEqual([
    [callTo('opal-medium', '500'), callTo('opal-medium', '400'), callTo('opal-medium', 'reset')],
    [requested(502, 'upstream_failed'), requested(400, 'invalid_request'), requested(502, 'upstream_failed')],
  ]);
  // Nothing of an answer was given on.
  for (const span of spans) expect(attributesOf(span)).not.toHaveProperty('gen_ai.response.time_to_first_chunk');
});

it('each of several calls of one request is a span of its own, and the usage is of the one that has answered', async () => {
  const { upstream, ask, ended } = await traced();
  const answer = json(message({ tokens: { input: 3, output: 5 } }));
  upstream.answerWith(({ body }) => (body.includes('first-place') ? failure(529) : answer));
  expect(await ask('opal-twice')).toBe(200);
  const { calls, requests, spans } = await ended();
  expect([calls, requests]).toEqual([[callTo('first-place', '529'), callTo('second-place')], [requested(200)]]);
  const [first, second, request] = spans.map((span) => ({ ...span, ...attributesOf(span) }));
  expect([first?.parentSpanId, second?.parentSpanId]).toEqual([request?.spanId, request?.spanId]);
  expect(first).not.toHaveProperty('gen_ai.usage.output_tokens');
  expect(second).toMatchObject({ 'gen_ai.usage.input_tokens': 3, 'gen_ai.usage.output_tokens': 5 });
  expect(BigInt(second?.endTimeUnixNano ?? 0)).toBeGreaterThan(BigInt(second?.startTimeUnixNano ?? 0));
});

it('what is refused before any call has a span alone, with its code, by the route or where there is none by the method', async () => {
  const { gateway, ask, ended } = await traced();
  expect(await ask('no-such-model')).toBe(404);
  expect((await call(gateway.url, '/nowhere')).status).toBe(404);
  const { calls, requests, spans } = await ended();
  expect([calls, requests]).toEqual([
    [],
    [requested(404, 'model_not_found'), { ...requested(404, 'route_not_found'), name: 'GET' }],
  ]);
  // What only its caller knows is no model.
  for (const span of spans) expect(attributesOf(span)).not.toHaveProperty('gen_ai.request.model');
});

it('an answer that breaks off is an error of the call and of the request, whatever status it began with; one whose client has left is none', async () => {
  const { upstream, gateway, time, accessLines, ended } = await traced();
  const [start = '', next = ''] = streamEvents();
  const first = Promise.withResolvers<void>();
  upstream.answerWith([head(), wait(first.promise), write(start), write(next), reset]);
  const broken = await postMessage(gateway, { stream: true });
  time.nowMs += 250;
  first.resolve();
  expect((await broken.restOrCut()).isCut).toBe(true);
  upstream.answerWith([head(), write(start), silence]);
  const left = await postMessage(gateway, { stream: true });
  await left.next();
  left.leave();
  await expect.poll(() => accessLines.length).toBe(2);
  const { calls, requests, spans } = await ended();
  expect([calls, requests]).toEqual([
    [callTo('opal-medium', 'reset'), callTo('opal-medium')],
    [{ ...requested(200, 'upstream_failed'), status: 2 }, requested(200)],
  ]);
  const [call, request] = spans.map(attributesOf);
  expect(call).toMatchObject({ 'gen_ai.response.time_to_first_chunk': 0.25 });
  expect(request).toMatchObject({ 'gateway.outcome': 'upstream_interrupted' });
});

it('the end of each call is told before the next begins, and before the request has ended', async () => {
  const told: string[] = [];
  const spans = {
    call: (_upstream: string, model: string) => {
      told.push(model);
      return { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, tracestate: null };
    },
    callFailed: (why: string) => void told.push(why),
    // Whoever is told so twice knows of the first.
    callEnded: () => void (told.at(-1) === 'done' || told.push('done')),
    ended: () => void told.push('ended'),
  };
  const tracing = { begin: () => spans, lost: 0, close: async () => undefined };
  const { upstream, gateway } = await startOnUpstream(onTestFinished, { tracing });
  upstream.answerWith(({ body }) => (body.includes('first-place') ? failure(529) : json(message())));
  expect((await post(gateway, '/v1/messages', asking('opal-twice'))).status).toBe(200);
  await expect.poll(() => told.at(-1)).toBe('ended');
  expect(told).toEqual(['first-place', '529', 'done', 'second-place', 'done', 'ended']);
});
