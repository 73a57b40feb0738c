import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { catalogEntry } from '../fixtures/catalog-entry.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { asking, call, post } from '../fixtures/gateway/call.ts';
import { freePort } from '../fixtures/processes/processes.ts';
import { PROGRAM, runForJson, stop } from '../fixtures/processes/run-program.ts';
import { attributesOf, startCollector } from '../fixtures/span-collector.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { head, write } from '../upstream/answer.ts';
import { streamEvents } from '../upstream/stream-events.ts';
import { startUpstream } from '../upstream/upstream.ts';

/** `gateway serve` with an upstream, an account that has a key, and spans that go to `otlpUrl`; null is nowhere. */
async function serve(otlpUrl: string | null, nodeOptions = '', environment: Readonly<Record<string, string>> = {}) {
  const upstream = endedLater(await startUpstream());
  const folder = temporaryFolder();
  const [file, catalog, data] = ['gateway.json', 'catalog.json', 'data'].map((name) => join(folder, name));
  if (file === undefined || catalog === undefined || data === undefined)
    throw new Error('three names have three paths');
  mkdirSync(data);
  writeFileSync(catalog, JSON.stringify({ models: [catalogEntry('opal-medium')] }));
  const test = { protocol: 'messages', baseUrl: upstream.url, apiKeyEnv: 'TEST_UPSTREAM_KEY' };
  const settings = { data, catalog, listen: { port: 0 }, providers: { test } };
  writeFileSync(file, JSON.stringify(otlpUrl === null ? settings : { ...settings, tracing: { otlpUrl } }));
  await runForJson('account', 'open', '--email', 'a@example.com', '--id', 'acct_a', '--config', file);
  const { key } = await runForJson('key', 'issue', 'acct_a', '--config', file);
  const child = spawn(process.execPath, [PROGRAM, '--json', 'serve', '--config', file], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, TEST_UPSTREAM_KEY: 'secret', NODE_OPTIONS: nodeOptions, ...environment },
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const logged: string[] = [];
  createInterface(child.stderr).on('line', (one) => logged.push(one));
  const [line] = await once(createInterface(child.stdout), 'line');
  return { child, upstream, logged, url: JSON.parse(String(line)).url as string, key: String(key) };
}

it('sends a span of each request and of its call, below its caller’s, and the call’s goes to the upstream', async () => {
  const { spans, url: otlpUrl } = await startCollector();
  const { child, upstream, url, key } = await serve(otlpUrl);
  const tokens = { input: 10, output: 20, cacheRead: 3, cacheWrite5m: 2, cacheWrite1h: 1 };
  upstream.answerWith([head(), ...streamEvents({ tokens }).map(write)]);
  const [traceId, spanId] = ['4bf92f3577b34da6a3ce929d0e0e4736', '00f067aa0ba902b7'];
  const headers = { traceparent: `00-${traceId}-${spanId}-01`, tracestate: 'vendor=1' };
  const asked = asking('opal-medium', { stream: true, messages: [{ role: 'user', content: 'a private matter' }] });
  const answered = await post({ url, key }, '/v1/messages', asked, headers);
  expect(answered.status).toBe(200);
  // Its caller does not keep it: that is not asked.
  const unsampled = { traceparent: headers.traceparent.replace(/01$/, '00') };
  expect((await post({ url, key }, '/v1/messages', asked, unsampled)).status).toBe(200);
  expect((await post({ url, key: 'sk-svc-wrong' }, '/v1/messages', asked)).status).toBe(401);
  expect((await call(url, '/healthz')).status).toBe(200);
  expect(await stop(child)).toBe(0);
  const [calling, request, again, , refused, ...more] = spans;
  if (calling === undefined || request === undefined || refused === undefined) throw new Error('five spans were sent');
  expect(more).toEqual([]);
  expect([request.traceId, request.parentSpanId, calling.parentSpanId]).toEqual([traceId, spanId, request.spanId]);
  expect(upstream.requests.map((one) => [one.headers.traceparent, one.headers.tracestate])).toEqual([
    [`00-${traceId}-${calling.spanId}-01`, 'vendor=1'],
    [`00-${traceId}-${again?.spanId}-01`, undefined],
  ]);
  expect([request.name, request.kind, calling.name, calling.kind]).toEqual([
    'POST /v1/messages',
    2,
    'chat opal-medium',
    3,
  ]);
  expect(attributesOf(calling)).toEqual({
    ...{ 'gen_ai.operation.name': 'chat', 'gen_ai.provider.name': 'test', 'gen_ai.request.model': 'opal-medium' },
    ...{ 'gen_ai.usage.input_tokens': 16, 'gen_ai.usage.output_tokens': 20 },
    ...{ 'gen_ai.usage.cache_read.input_tokens': 3, 'gen_ai.usage.cache_creation.input_tokens': 3 },
    'gen_ai.response.time_to_first_chunk': expect.any(Number),
  });
  expect(attributesOf(request)).toMatchObject({
    ...{ 'http.request.method': 'POST', 'http.route': '/v1/messages', 'http.response.status_code': 200 },
    ...{ 'gateway.request.id': answered.headers['request-id'], 'gateway.account.id': 'acct_a' },
    'gateway.key.id': expect.stringMatching(/^key_/),
    ...{ 'gateway.outcome': 'completed', 'gateway.cost_usd': expect.stringMatching(/^0\.000/) },
  });
  expect(BigInt(calling.startTimeUnixNano)).toBeGreaterThanOrEqual(BigInt(request.startTimeUnixNano));
  // Each span has its start to the millisecond.
  expect(BigInt(request.endTimeUnixNano) + 1_000_000n).toBeGreaterThanOrEqual(BigInt(calling.endTimeUnixNano));
  expect(refused.parentSpanId).toBeUndefined();
  expect(attributesOf(refused)).toMatchObject({ 'http.response.status_code': 401, 'error.type': 'invalid_credential' });
  for (const secret of [key, 'sk-svc', 'private matter']) expect(JSON.stringify(spans)).not.toContain(secret);
});

it('harms nobody where nobody takes spans: requests are answered, and the end is in order', async () => {
  const { child, url, key } = await serve(`http://127.0.0.1:${await freePort()}/v1/traces`);
  for (let count = 0; count < 20; count++)
    expect((await post({ url, key }, '/v1/messages', asking('opal-medium'))).status).toBe(200);
  expect(await stop(child)).toBe(0);
});

it('writes what Node warns of, as a timer of the SDK does that is set to the past, as a line of the log', async () => {
  const late = 'process.on("SIGUSR2", () => setTimeout(() => process.emit("late"), -1))';
  const { child, logged } = await serve(
    'http://127.0.0.1:9/v1/traces',
    `--import=data:text/javascript,${encodeURIComponent(late)}`,
  );
  child.kill('SIGUSR2');
  await expect.poll(() => logged.join('\n')).toContain('TimeoutNegativeWarning');
  expect(await stop(child)).toBe(0);
  const lines = logged.map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(lines.filter(({ warning }) => warning !== undefined)).toMatchObject([
    { msg: 'Node warns', warning: 'TimeoutNegativeWarning', reason: expect.stringContaining('negative') },
  ]);
});

it('is not loaded where it is not configured, and costs a request nothing: whatever its caller sends', async () => {
  const preload = fileURLToPath(new URL('told-modules-preload.ts', import.meta.url));
  const loadedWith = async (otlpUrl: string | null): Promise<string[]> => {
    const file = join(temporaryFolder(), 'modules');
    const { child, url, key } = await serve(otlpUrl, `--import=${preload}`, { TOLD_MODULES_FILE: file });
    const headers = { traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' };
    for (const stream of [false, true])
      expect((await post({ url, key }, '/v1/messages', asking('opal-medium', { stream }), headers)).status).toBe(200);
    expect(await stop(child)).toBe(0);
    const loaded = readFileSync(file, 'utf8').split('\n');
    // The interface alone comes with prom-client, which asks it for nothing here.
    return loaded.filter((one) => /opentelemetry|observation\/otlp/.test(one) && !one.includes('@opentelemetry/api/'));
  };
  expect(await loadedWith(null)).toEqual([]);
  // What is looked for is seen where it is loaded.
  const loaded = await loadedWith('http://127.0.0.1:9/v1/traces');
  for (const name of ['otlp-tracing.ts', '@opentelemetry/sdk-trace', '@opentelemetry/exporter-trace-otlp-http'])
    expect(loaded.filter((one) => one.includes(name))).not.toEqual([]);
});
