import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { FastifyRequest } from 'fastify';
import pino from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { ObservedRequest } from '../../../proxy/observation/observed-request.ts';
import { OtlpTracing } from '../../../proxy/observation/otlp-tracing.ts';

const BATCH = 512;
const WAITING_MAX = 4_096;
const request = { method: 'GET', routeOptions: { url: '/me' }, caller: null } as FastifyRequest;

/** Spans to somebody who answers each batch with the status that is asked for, or, while that is null, not at all. */
async function tracingTo(answer: { status: number | null }) {
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
  const tracing = new OtlpTracing({ otlpUrl, ratio: 1 }, logger);
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
