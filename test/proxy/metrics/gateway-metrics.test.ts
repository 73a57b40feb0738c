import { renameSync, statfsSync, writeFileSync } from 'node:fs';
import { expect, it, onTestFinished } from 'vitest';
import { sealKeyFile } from '../../../ledger/seals/seal-keys.ts';
import { endedLater } from '../../fixtures/ended-later.ts';
import { asking, call, get, post } from '../../fixtures/gateway/call.ts';
import { postMessage, recorded } from '../../fixtures/gateway/post-message.ts';
import { sendRaw, statusesOf } from '../../fixtures/gateway/raw-socket.ts';
import { startTestGateway, type TestGateway, type TestGatewayOptions } from '../../fixtures/gateway/start-gateway.ts';
import { startOnUpstream } from '../../fixtures/gateway/start-on-upstream.ts';
import { LogWithOutages } from '../../fixtures/ledger/log-with-outages.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';
import { head, reset, silence, wait, write } from '../../upstream/answer.ts';
import { streamEvents } from '../../upstream/stream-events.ts';

const METRICS = { metrics: { serve: { port: 0 } } };
const start = async (options: TestGatewayOptions = {}): Promise<TestGateway> =>
  endedLater(await startTestGateway({ ...options, settings: METRICS }));

/** Every sample by its name with labels, as Prometheus reads it. */
async function samples({ gateway: { metricsUrl } }: TestGateway): Promise<Map<string, number>> {
  const { status, text } = await call(metricsUrl ?? '', '/metrics');
  expect(status).toBe(200);
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => [
      line.slice(0, line.lastIndexOf(' ')),
      Number(line.slice(line.lastIndexOf(' ')).replace('Inf', 'Infinity')),
    ]),
  );
}

it('are answered on an address of their own only, and nowhere where none is configured', async () => {
  const one = await startTestGateway({ settings: METRICS });
  expect(one.gateway.metricsUrl).not.toBe(one.url);
  expect((await call(one.url, '/metrics')).status).toBe(404);
  const metricsUrl = one.gateway.metricsUrl ?? '';
  await one.stop();
  await expect(call(metricsUrl, '/metrics')).rejects.toThrow(/ECONNREFUSED/);
  expect(endedLater(await startTestGateway()).gateway.metricsUrl).toBeNull();
});

it('count answers by status and requests by outcome, and leave probes out', async () => {
  const one = await start();
  // There from the beginning, as a rate needs it.
  expect((await samples(one)).get('gateway_settlement_latency_seconds_count')).toBe(0);
  for (let count = 0; count < 3; count++)
    expect((await post(one, '/v1/messages', asking('svc-mock'))).status).toBe(200);
  await post({ ...one, key: 'sk-svc-wrong' }, '/v1/messages', asking('svc-mock'));
  await post(one, '/v1/messages', asking('no-such-model'));
  await get(one, '/me');
  for (const path of ['/readyz', '/healthz', '/readyz']) await call(one.url, path);
  await one.gateway.process.settlement.idle();
  const seen = await samples(one);
  expect(seen.get('gateway_requests_total{status="200"}')).toBe(4);
  expect(seen.get('gateway_requests_total{status="401"}')).toBe(1);
  expect(seen.get('gateway_requests_total{status="404"}')).toBe(1);
  expect(seen.get('gateway_request_outcomes_total{outcome="completed"}')).toBe(3);
  expect(seen.get('gateway_settlement_latency_seconds_count')).toBe(3);
  expect(seen.get('gateway_settlement_latency_seconds_bucket{le="+Inf"}')).toBe(3);
  expect([...seen.keys()].filter((name) => name.startsWith('gateway_requests_total'))).toHaveLength(3);
  // Read twice they say the same: collecting is not counting.
  expect((await samples(one)).get('gateway_requests_total{status="200"}')).toBe(4);
});

it('count what is no HTTP as the 400 that it gets, and so, and once, a request whose body is none', async () => {
  const one = await start();
  const counted = async () => {
    const all = [...(await samples(one))];
    return all.flatMap(([name, count]) =>
      name.startsWith('gateway_requests_total') ? [[name.slice(-5, -2), count]] : [],
    );
  };
  for (const sent of ['no request at all\r\n\r\n', `GET /me HTTP/1.1\r\nx: ${'x'.repeat(100_000)}\r\n\r\n`])
    expect(statusesOf(await sendRaw(one.url, sent))).toEqual(['400']);
  expect(await counted()).toEqual([['400', 2]]);
  const head = `POST /v1/messages HTTP/1.1\r\nhost: x\r\nx-api-key: ${one.key}\r\ntransfer-encoding: chunked\r\n\r\n`;
  expect(statusesOf(await sendRaw(one.url, `${head}no length\r\n`))).toEqual(['400']);
  expect(await counted()).toEqual([['400', 3]]);
});

it('count lines that the access log has lost', async () => {
  const one = await start({ accessLines: [] });
  expect((await samples(one)).get('gateway_access_log_lost_total')).toBe(7);
});

it('tell of an outage of the log: that it is away, the age of the views, what waits and what is held', async () => {
  const clock = { nowMs: Date.now() };
  const log = new LogWithOutages();
  const one = await start({ log, clock: () => clock.nowMs });
  const calm = await samples(one);
  const names = [
    'event_log_up',
    'admitting',
    'views_age_seconds',
    'settlements_pending',
    'journal_open_requests',
    'holds',
  ];
  const figures = (from: Map<string, number>) => names.map((name) => from.get(`gateway_${name}`));
  expect(figures(calm)).toEqual([1, 1, 0, 0, 0, 0]);
  await log.goAway();
  for (let count = 0; count < 2; count++) await post(one, '/v1/messages', asking('opal-medium'));
  clock.nowMs += 90_000;
  const away = await samples(one);
  expect(figures(away)).toEqual([0, 1, 90, 2, 2, 2]);
  expect(away.get('gateway_journal_bytes')).toBeGreaterThan(calm.get('gateway_journal_bytes') ?? Number.NaN);
  clock.nowMs += 300_000;
  expect(figures(await samples(one)).slice(0, 3)).toEqual([0, 0, 390]);
  log.comeBack();
  await one.gateway.process.settlement.idle();
  await expect.poll(async () => figures(await samples(one))).toEqual([1, 1, 0, 0, 0, 0]);
  expect((await samples(one)).get('gateway_settlement_latency_seconds_sum')).toBeGreaterThan(700);
});

it('tell of the seals there are and of what none covers, which is beyond any threshold where nothing will be sealed', async () => {
  const figures = async (one: TestGateway) => {
    const seen = await samples(one);
    return ['seals', 'events_unsealed'].map((name) => seen.get(`gateway_${name}`));
  };
  const one = endedLater(await startTestGateway({ settings: { ...METRICS, seals: { events: 1 } } }));
  await expect.poll(async () => (await figures(one))[0]).toBeGreaterThan(0);
  await one.gateway.process.sealer?.close();
  const standing = one.gateway.process.sealer?.standing();
  expect(await figures(one)).toEqual([(standing?.newest?.seal ?? Number.NaN) + 1, standing?.unsealed]);
  const data = temporaryFolder();
  writeFileSync(sealKeyFile(data), 'no key');
  const other = endedLater(await startTestGateway({ data, settings: METRICS }));
  await expect.poll(() => figures(other)).toEqual([0, Number.POSITIVE_INFINITY]);
});

it('tell of what is forwarded, what is read on for who has left, jumps of the clock, and health', async () => {
  const time = { wallMs: Date.now(), monotonicMs: 1_000 };
  const clocks = { clock: () => time.wallMs, monotonic: () => time.monotonicMs };
  const settings = { ...METRICS, shutdownDrainMs: 10 };
  const { upstream, gateway: one } = await startOnUpstream(onTestFinished, { ...clocks, settings });
  const figures = async () => {
    const seen = await samples(one);
    return ['requests_in_flight', 'drains', 'clock_jumps', 'healthy'].map((name) => seen.get(`gateway_${name}`));
  };
  expect(await figures()).toEqual([0, 0, 0, 1]);
  const tokens = { input: 10, output: 10, cacheRead: 0, cacheWrite5m: 0, cacheWrite1h: 0 };
  upstream.answerWith([head(), ...streamEvents({ tokens }).slice(0, 3).map(write), silence]);
  const answer = await postMessage(one, { stream: true });
  await answer.next();
  expect(await figures()).toEqual([1, 0, 0, 1]);
  answer.leave();
  await expect.poll(figures).toEqual([1, 1, 0, 1]);
  time.wallMs += 3_600_000;
  await expect.poll(figures).toEqual([1, 1, 1, 1]);
  one.gateway.fail(new Error('the views stand still'));
  expect(await figures()).toEqual([1, 1, 1, 0]);
});

it('tell by model, upstream and outcome what requests took, used and cost, to the micro-USD', async () => {
  const time = { nowMs: Date.now() };
  const { upstream, gateway: one } = await startOnUpstream(onTestFinished, {
    clock: () => time.nowMs,
    settings: METRICS,
  });
  const tokens = { input: 11, output: 23, cacheRead: 7, cacheWrite5m: 5, cacheWrite1h: 3 };
  const [start = '', ...others] = streamEvents({ tokens });
  const [first, rest] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  upstream.answerWith([head(), wait(first.promise), write(start), wait(rest.promise), ...others.map(write)]);
  const answer = await postMessage(one, { stream: true });
  time.nowMs += 50;
  first.resolve();
  await answer.next();
  expect((await samples(one)).get('gateway_held_micro_usd')).toBe(
    Number(one.gateway.process.holds.ofAccount(one.accountId)),
  );
  time.nowMs += 2_000;
  rest.resolve();
  await answer.rest();
  for (const model of ['svc-mock', 'svc-mock', 'no-such-model']) await post(one, '/v1/messages', asking(model));
  upstream.answerWith([reset]);
  await post(one, '/v1/messages', asking('opal-medium'));
  const {
    debits: [debit],
  } = await recorded(one);
  const seen = await samples(one);
  const of = (name: string, labels: string) => seen.get(`gateway_${name}{${labels}}`);
  const medium = 'model="opal-medium",upstream="test"';
  const duration = 'request_duration_seconds';
  expect(of(`${duration}_sum`, `${medium},outcome="completed"`)).toBe(2.05);
  const below = ['1', '2.5', '+Inf'].map((le) => of(`${duration}_bucket`, `${medium},outcome="completed",le="${le}"`));
  expect(below).toEqual([0, 1, 1]);
  expect(of(`${duration}_count`, `${medium},outcome="upstream_refused"`)).toBe(1);
  expect(of(`${duration}_count`, 'model="svc-mock",upstream="mock",outcome="completed"')).toBe(2);
  expect(of(`${duration}_count`, 'model="unknown",upstream="none",outcome="refused"')).toBe(1);
  expect([...seen].filter(([name]) => name.startsWith('gateway_refusals_total'))).toEqual([
    [`gateway_refusals_total{${medium},code="upstream_failed"}`, 1],
    ['gateway_refusals_total{model="unknown",upstream="none",code="model_not_found"}', 1],
  ]);
  const bytes = ['0.025', '0.05', '+Inf'].map((le) =>
    of('time_to_first_byte_seconds_bucket', `${medium},outcome="completed",le="${le}"`),
  );
  expect(bytes).toEqual([0, 1, 1]);
  // The clock stood still but while the upstream was waited for.
  expect(of('overhead_seconds_count', `${medium},outcome="completed"`)).toBe(1);
  expect(of('overhead_seconds_sum', `${medium},outcome="completed"`)).toBe(0);
  for (const [name, count] of Object.entries(tokens))
    expect(of('tokens_total', `${medium},class="${name}"`)).toBe(count);
  expect(debit?.amount).toBeGreaterThan(0n);
  expect(of('cost_micro_usd_total', medium)).toBe(Number(debit?.amount));
  expect(seen.get('gateway_held_micro_usd')).toBe(0);
  expect([...seen.keys()].filter((name) => name.includes('no-such-model'))).toEqual([]);
});

it('tell what is free on the disk of the data folder, of how much, and nothing of it where nobody can say', async () => {
  const one = await start();
  const { bsize, blocks } = statfsSync(one.data);
  const seen = await samples(one);
  expect(seen.get('gateway_disk_bytes')).toBe(bsize * blocks);
  expect(seen.get('gateway_disk_free_bytes')).toBeGreaterThan(0);
  expect(seen.get('gateway_journal_max_bytes')).toBe(512 * 1024 ** 2);
  renameSync(one.data, `${one.data}-away`);
  const away = await samples(one);
  renameSync(`${one.data}-away`, one.data);
  expect(['gateway_disk_bytes', 'gateway_disk_free_bytes'].map((name) => away.get(name))).toEqual([0, 0]);
});

it('name no account, key or request, and have the delay of the event loop and the process', async () => {
  const one = await start();
  await post(one, '/v1/messages', asking('opal-medium'));
  const { text } = await call(one.gateway.metricsUrl ?? '', '/metrics');
  for (const secret of [one.key, one.accountId, 'sk-svc-', 'key_', 'acct_', 'req_']) expect(text).not.toContain(secret);
  expect(text).toMatch(/^gateway_nodejs_eventloop_lag_p99_seconds /m);
  expect(text).toMatch(/^gateway_process_resident_memory_bytes /m);
});
