import { statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { afterAll, describe, expect, it } from 'vitest';
import { endedLater } from '../fixtures/ended-later.ts';
import { asking, post } from '../fixtures/gateway/call.ts';
import { startTestGateway, type TestGateway, type TestGatewayOptions } from '../fixtures/gateway/start-gateway.ts';
import { LogWithOutages } from '../fixtures/ledger/log-with-outages.ts';
import { json, reset } from '../upstream/answer.ts';
import { message } from '../upstream/message.ts';
import { startUpstream } from '../upstream/upstream.ts';
import { composePath } from './compose-file.ts';
import { firing, hasPromtool, promtool, RULES, tested } from './promtool.ts';
import { type Page, type Scraped, scrape } from './scrape.ts';

const METRICS = { metrics: { serve: { port: 0 } }, seals: { events: 1 } };
const upstream = endedLater(await startUpstream(), afterAll);

async function start(options: TestGatewayOptions = {}): Promise<TestGateway> {
  const settings = { ...METRICS, ...options.settings };
  return endedLater(await startTestGateway({ upstreamUrl: upstream.url, ...options, settings }));
}

/** Once all that stands in the ledger is sealed, as it is by itself a minute later. */
async function page(one: TestGateway): Promise<Page> {
  let page: Page = null;
  const look = async (): Promise<boolean> => {
    page = await scrape(one.gateway.metricsUrl);
    return isSealed(page);
  };
  await expect.poll(look).toBe(true);
  return page;
}
const isSealed = (page: Page): boolean => !/^gateway_events_unsealed [1-9]/m.test(page ?? '');

const ask = (one: TestGateway, model = 'svc-mock') => post(one, '/v1/messages', asking(model));
async function askOften(one: TestGateway, times: number, model?: string): Promise<void> {
  for (let time = 0; time < times; time++) await ask(one, model);
}

/** The alerts that fire where it goes on as it did between the two pages are these, and no other. */
function expectFiring(alerts: readonly string[], scraped: readonly Scraped[], growing: readonly string[] = []): void {
  const { status, said } = tested({ scraped, growing, expressions: [firing('gateway', alerts)] });
  // promtool says what it got instead.
  if (status !== 0) expect.fail(said);
}

const one = (before: Page, after: Page): readonly Scraped[] => [{ job: 'gateway', before, after }];
/** As it is, for good. */
const still = (after: Page): readonly Scraped[] => one(after, after);

/** Of the machine that the tests run on: over such a disk no gateway is healthy. */
const { bavail, blocks } = statfsSync(tmpdir());
const isDiskFilling = bavail <= 0.1 * blocks;
if (isDiskFilling) console.info('skipped: alerts (the disk of this machine is nearly full)');

describe.skipIf(!hasPromtool || isDiskFilling)('alerts of compose.yaml', () => {
  it('are rules that Prometheus takes, as is its configuration', () => {
    for (const args of [
      ['check', 'rules', composePath('alerts.yaml')],
      ['check', 'config', composePath('prometheus.yaml')],
    ])
      expect(promtool(...args)).toMatchObject({ status: 0 });
  });

  it.each(RULES)('say who is to come, what is amiss and what to run next: $alert', ({ labels, annotations }) => {
    expect(labels.severity).toMatch(/^(page|ticket)$/);
    expect(annotations.summary).toMatch(/^[A-Z].*[^.]$/);
    expect(annotations.runbook).toMatch(/`[^`]+`/);
  });

  it('are silent over a healthy gateway with traffic, also where callers ask for what is not there', async () => {
    const gateway = await start();
    upstream.answerWith(json(message()));
    await askOften(gateway, 2);
    const before = await page(gateway);
    await askOften(gateway, 3, 'opal-medium');
    upstream.answerWith(json({ error: { type: 'invalid_request_error', message: 'no' } }, { status: 400 }));
    await askOften(gateway, 3, 'opal-medium');
    await askOften(gateway, 3, 'no-such-model');
    expectFiring([], one(before, await page(gateway)));
  });

  it('tell of a gateway that is gone', async () => {
    const gateway = await startTestGateway({ settings: METRICS });
    const before = await page(gateway);
    await gateway.stop();
    const after = await scrape(gateway.gateway.metricsUrl);
    expect(after).toBeNull();
    expectFiring(['GatewayDown'], one(before, after));
    expectFiring(['GatewayDown'], []);
  });

  it('tell of a log that is away, of views that grow old by it, and of what waits for it', async () => {
    const clock = { nowMs: Date.now() };
    const log = new LogWithOutages();
    const settings = { journal: { maxBytes: 64 * 1024 ** 2 } };
    const gateway = await start({ log, clock: () => clock.nowMs, settings });
    const before = await page(gateway);
    await log.goAway();
    expectFiring(['LedgerAway'], still(await page(gateway)));
    await askOften(gateway, 300);
    clock.nowMs += 90_000;
    const behind = ['LedgerAway', 'ViewsBehind', 'SettlementsWaiting', 'JournalFilling'];
    expectFiring(behind, one(before, await page(gateway)), ['gateway_journal_bytes']);
    clock.nowMs += 300_000;
    expectFiring(['NotAdmitting', 'LedgerAway', 'ViewsBehind', 'SettlementsWaiting'], still(await page(gateway)));
    log.comeBack();
    await gateway.gateway.process.settlement.idle();
  });

  it('tell of a gateway that cannot go on', async () => {
    const gateway = await start();
    await page(gateway);
    gateway.gateway.fail(new Error('the views stand still'));
    const after = await scrape(gateway.gateway.metricsUrl);
    // It seals no more, either.
    expectFiring(['NotAdmitting', 'Unhealthy', ...(isSealed(after) ? [] : ['SealsBehind'])], still(after));
  });

  it('tell of upstreams that fail', async () => {
    const gateway = await start();
    upstream.answerWith(json(message()));
    await askOften(gateway, 3, 'opal-medium');
    const before = await page(gateway);
    upstream.answerWith([reset]);
    await askOften(gateway, 2, 'opal-medium');
    expectFiring(['UpstreamFailing'], one(before, await page(gateway)));
  });

  it('tell of an event loop that is late', async () => {
    const gateway = await start({ loopDelay: () => 300 });
    gateway.gateway.process.loopDelay.look();
    expectFiring(['EventLoopLate'], still(await page(gateway)));
  });

  it('tell of usage beyond its hold', async () => {
    const gateway = await start();
    upstream.answerWith(json(message({ tokens: { input: 1, output: 1e12 } })));
    await ask(gateway, 'opal-medium');
    await gateway.gateway.process.settlement.idle();
    await expect.poll(() => page(gateway)).toMatch(/^gateway_exceptions_open 1$/m);
    expectFiring(['ExceptionsOpen'], still(await page(gateway)));
  });
});
