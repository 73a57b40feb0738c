import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { FastifyRequest } from 'fastify';
import pino from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { ObservedRequest } from '../../../proxy/observation/observed-request.ts';
import { OtlpTracing } from '../../../proxy/observation/otlp-tracing.ts';
import { startCollector } from '../../fixtures/span-collector.ts';

const BATCH = 512;
const WAITING_MAX = 4_096;
const request = { method: 'GET', routeOptions: { url: '/me' } } as FastifyRequest;

/** Spans to somebody who answers each batch with the status that is asked for, or, while that is null, not at all. */
async function tracingTo(answer: { status: number | null }, ratio = 1) {
  const held: ServerResponse[] = [];
  const server = createServer((asked, response) => {
    asked.resume();
    if (answer.status === null) held.push(response);
    else response.writeHead(answer.status, { 'content-type': 'application/json' }).end('{}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const lines: string[] = [];
  const logger = pino({ base: null, timestamp: false }, { write: (line: string) => lines.push(line) });
  const otlpUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`;
  const tracing = new OtlpTracing({ otlpUrl, ratio }, logger);
  onTestFinished(async () => {
    for (const response of held) response.writeHead(400).end('{}');
    await tracing.close().catch(() => undefined);
    server.close();
  });
  const end = (count: number): void => {
    for (let number = 0; number < count; number++) {
      const spans = tracing.begin({});
      spans.ended(new ObservedRequest(request, 0, spans), 200);
    }
  };
  return { tracing, end, said: () => lines.map((line) => JSON.parse(line).msg), held };
}

it('counts spans that nobody takes, says so once, and once when they are taken again', async () => {
  const answer = { status: 400 };
  const { tracing, end, said } = await tracingTo(answer);
  for (const lost of [BATCH, 2 * BATCH]) {
    end(BATCH);
    await expect.poll(() => tracing.lost).toBe(lost);
  }
  expect(said()).toEqual(['spans are lost: nobody takes them']);
  answer.status = 200;
  end(BATCH);
  await expect.poll(() => said().at(-1)).toBe('spans are taken again');
  expect([tracing.lost, said().length]).toEqual([2 * BATCH, 2]);
});

it('lets no more spans wait than its bound, those on their way included, and loses what is beyond', async () => {
  const { tracing, end, held } = await tracingTo({ status: null });
  end(BATCH);
  await expect.poll(() => held.length).toBe(1);
  end(WAITING_MAX);
  expect(tracing.lost).toBe(BATCH);
});

it.each([
  ['all, also of callers that do not keep theirs', 1, '01'],
  ['none, also of callers that keep theirs, whatever id they give it', 1e-12, '00'],
])('keeps as many of the requests as it is told to: %s', async (_what, ratio, flags) => {
  const { tracing } = await tracingTo({ status: 200 }, ratio);
  for (const traceId of [`${'0'.repeat(31)}1`, 'f'.repeat(32), '4bf92f3577b34da6a3ce929d0e0e4736'])
    for (const asked of ['00', '01']) {
      const spans = tracing.begin({ traceparent: `00-${traceId}-00f067aa0ba902b7-${asked}` });
      expect(spans.call('test', 'opal').traceparent).toMatch(new RegExp(`^00-${traceId}-[0-9a-f]{16}-${flags}$`));
      spans.ended(new ObservedRequest(request, 0, spans), 200);
    }
});

it('a call ends when its upstream was done with it, not with its request; one that nobody has said so of with its request', async () => {
  const { spans: taken, url: otlpUrl } = await startCollector();
  const tracing = new OtlpTracing({ otlpUrl, ratio: 1 }, pino({ level: 'silent' }));
  const spans = tracing.begin({ traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, tracestate: 'vendor=1' });
  const begunMs = performance.now();
  expect(spans.call('test', 'one').tracestate).toBe('vendor=1');
  spans.callEnded();
  const endedMs = performance.now();
  later();
  spans.callEnded();
  spans.call('test', 'two');
  later();
  spans.ended(new ObservedRequest(request, 0, spans), 200);
  await tracing.close();
  const [one = 0, two = 0] = taken.map(({ startTimeUnixNano: from, endTimeUnixNano: to }) => inMs(to) - inMs(from));
  expect(one).toBeLessThan(endedMs - begunMs + LATER_MS);
  expect(two).toBeGreaterThanOrEqual(LATER_MS / 2);
  expect(taken.map(({ parentSpanId }) => parentSpanId)).toEqual([
    ...[taken[2]?.spanId, taken[2]?.spanId],
    'b'.repeat(16),
  ]);
});

const LATER_MS = 4;

/** The clock that spans are measured by has gone on by so much. */
function later(): void {
  const untilMs = performance.now() + LATER_MS;
  while (performance.now() < untilMs);
}

const inMs = (nanoseconds: string): number => Number(BigInt(nanoseconds) / 1_000n) / 1_000;
