import { Registry } from 'prom-client';
import { afterAll, expect, it } from 'vitest';
import { z } from 'zod';
import { RelayMetrics } from '../../ledger/relay/relay-metrics.ts';
import { asking, post } from '../fixtures/gateway/call.ts';
import { startOnUpstream } from '../fixtures/gateway/start-on-upstream.ts';
import { newTopicName } from '../kafka/new-topic-name.ts';
import { startBroker } from '../kafka/start-broker.ts';
import { LedgerFile } from '../ledger/relay/ledger-file.ts';
import { RelayProcess } from '../ledger/relay/relay-process.ts';
import { json } from '../upstream/answer.ts';
import { message } from '../upstream/message.ts';
import { composeFile } from './compose-file.ts';
import { hasPromtool, tested } from './promtool.ts';
import { type Page, scrape } from './scrape.ts';

const dashboardSchema = z.object({
  panels: z.array(
    z.object({
      id: z.number(),
      title: z.string(),
      gridPos: z.object({ x: z.number(), y: z.number(), w: z.literal(8), h: z.literal(8) }),
      targets: z.array(z.object({ refId: z.string(), expr: z.string(), legendFormat: z.string() })),
    }),
  ),
});
const { panels } = dashboardSchema.parse(JSON.parse(composeFile('grafana-dashboard.json')));
const TARGETS = panels.flatMap(({ title, targets }) => targets.map((target) => ({ title, ...target })));

const broker = hasPromtool ? await startBroker() : null;
afterAll(() => broker?.stop());

const settings = { metrics: { serve: { port: 0 } }, rateLimits: { paid: { requestsPerMinute: 7 } } };

/** Requests that are served, that an upstream refuses, that cost more than was held, and that come too often. */
async function traffic(): Promise<readonly [Page, Page]> {
  const { upstream, gateway } = await startOnUpstream(afterAll, { settings });
  const page = () => scrape(gateway.gateway.metricsUrl);
  const ask = async (): Promise<number> => (await post(gateway, '/v1/messages', asking('opal-medium'))).status;
  const before = await page();
  upstream.answerWith(json(message()));
  for (const _ of [1, 2]) await ask();
  upstream.answerWith(json(message({ tokens: { input: 1, output: 1e12 } })));
  await ask();
  upstream.answerWith(json({}, { status: 500 }));
  while ((await ask()) !== 429);
  await gateway.gateway.process.settlement.idle();
  await expect.poll(page).toMatch(/^gateway_exceptions_open 1$/m);
  return [before, await page()];
}

/** A relay that publishes what comes to its ledger; where there is no broker, one that has published nothing yet. */
async function published(): Promise<readonly [Page, Page]> {
  if (broker === null) {
    const registry = new Registry();
    new RelayMetrics(registry, Date.now);
    const page = await registry.metrics();
    return [page, page];
  }
  const [ledger, topic] = [await LedgerFile.open(), newTopicName('ledger')];
  await broker.createTopic(topic);
  const relay = new RelayProcess({ folder: ledger.folder, brokers: broker.brokers, topic });
  const page = async (): Promise<Page> => scrape(await relay.metricsUrl());
  await relay.published(1);
  const before = await page();
  await ledger.append('acct_1', 3);
  await relay.published(4);
  return [before, await page()];
}

it.skipIf(!hasPromtool)(
  'each expression of the dashboard finds what is scraped, with the labels that its legend names',
  async () => {
    const [before, after] = await traffic();
    const [relayBefore, relayAfter] = await published();
    const expressions = TARGETS.flatMap(({ expr, legendFormat }) => [
      { expr: `count(${expr}) > bool 0`, samples: { '{}': 1 } },
      ...[...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => ({
        // Without those that have no such label.
        expr: `count(count by (${label}) (${expr}) unless on (${label}) vector(0)) > bool 0`,
        samples: { '{}': 1 },
      })),
    ]);
    const scraped = [
      { job: 'gateway', before, after },
      { job: 'relay', before: relayBefore, after: relayAfter },
    ] as const;
    const { status, said } = tested({ scraped, expressions });
    if (status !== 0) expect.fail(said);
    expect(expressions.length).toBeGreaterThan(50);
  },
);

it('the panels of the dashboard have their places, three in a row', () => {
  expect(panels.map(({ id, gridPos }) => [id, gridPos.x, gridPos.y])).toEqual(
    panels.map((_, at) => [at + 1, (at % 3) * 8, Math.floor(at / 3) * 8]),
  );
});
