import { afterAll, afterEach, expect, it } from 'vitest';
import { meSchema } from '../../contracts/answers.ts';
import { type EventLog, EventLogError } from '../../contracts/event-log.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { asking, call, get, post } from '../fixtures/gateway/call.ts';
import { startTestGateway, TEST_CATALOG, type TestGateway } from '../fixtures/gateway/start-gateway.ts';
import { MemoryEventLog } from '../fixtures/ledger/memory-event-log.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { json } from '../upstream/answer.ts';
import { message } from '../upstream/message.ts';
import { startUpstream } from '../upstream/upstream.ts';

const SEARCHED = 'opal-dear-search';
const MODEL = TEST_CATALOG.models.find(({ id }) => id === 'opal-medium');
const DEAREST = { input: '1000000', output: '1000000', uses: { web_search_requests: '10000' } };
const CATALOG = { models: [...TEST_CATALOG.models, { ...MODEL, id: SEARCHED, price: DEAREST }] };
const SEARCH = { tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 1 }] };
const COUNT_MAX = Number.MAX_SAFE_INTEGER;

const upstream = endedLater(await startUpstream(), afterAll);
let gateway: TestGateway | null = null;
afterEach(async () => {
  await gateway?.stop();
  gateway = null;
});

async function start(data: string, log?: EventLog): Promise<TestGateway> {
  const settings = { metrics: { serve: { port: 0 } } };
  const common = { upstreamUrl: upstream.url, settings, catalog: CATALOG, data, creditsMicroUsd: 10n ** 15n };
  gateway = await startTestGateway(log === undefined ? common : { ...common, log });
  return gateway;
}

const stuckOnes = async ({ gateway: { metricsUrl } }: TestGateway): Promise<number> =>
  Number(/^gateway_settlements_stuck (\S+)$/m.exec((await call(metricsUrl ?? '', '/metrics')).text)?.[1]);
const heldBy = async (one: TestGateway) => meSchema.parse((await get(one, '/me')).body).held_credits;

it('an answer that reports the largest counts at the largest prices is settled at its hold, with its exact cost kept', async () => {
  const one = await start(temporaryFolder());
  const usage = {
    input_tokens: COUNT_MAX,
    output_tokens: COUNT_MAX,
    server_tool_use: { web_search_requests: COUNT_MAX },
  };
  upstream.answerWith(json({ ...message(), usage }));
  expect((await post(one, '/v1/messages', asking(SEARCHED, SEARCH))).status).toBe(200);
  const debits = (await one.events()).filter(({ type }) => type === 'CreditsDebited');
  const cost = BigInt(COUNT_MAX) * (2n * 10n ** 12n + 10n ** 16n);
  expect(debits).toMatchObject([{ data: { cost } }]);
  expect((await call(one.url, '/readyz')).body).toEqual({ ok: true });
  expect(await heldBy(one)).toBe(0);
});

/** A log that will never take what stands after a request of the model. */
function refusing(inner: MemoryEventLog, model: string): { readonly log: EventLog; accept(): void } {
  let refuses = true;
  const append = inner.append.bind(inner);
  const log: EventLog = inner;
  log.append = (stream, expected, events) =>
    refuses && events.some(({ type, data }) => type === 'UsageRecorded' && data.includes(`"model":"${model}"`))
      ? Promise.reject(new EventLogError('invalid', 'over the limits'))
      : append(stream, expected, events);
  return { log, accept: () => (refuses = false) };
}

it('a request that cannot be settled is told, keeps its hold, and holds up neither the others nor the next start, which tries again', async () => {
  const data = temporaryFolder();
  const { log, accept } = refusing(new MemoryEventLog(), 'opal-fast');
  const first = await start(data, log);
  upstream.answerWith(json(message()));
  expect((await post(first, '/v1/messages', asking('opal-fast'))).status).toBe(200);
  expect((await post(first, '/v1/messages', asking('opal-medium'))).status).toBe(200);
  const recorded = async (one: TestGateway) =>
    (await one.events()).flatMap((event) => (event.type === 'UsageRecorded' ? [event.data.model] : []));
  expect(await recorded(first)).toEqual(['opal-medium']);
  const degraded = /^req_[0-9a-f]{32} cannot be settled: the credit stays held/;
  const ready = async (one: TestGateway) => (await call(one.url, '/readyz')).body;
  expect(await ready(first)).toEqual({ ok: true, degraded: expect.stringMatching(degraded) });
  expect([await stuckOnes(first), Number(await heldBy(first)) > 0]).toEqual([1, true]);
  await first.stop();

  const second = await start(data, log);
  expect(await ready(second)).toEqual({ ok: true, degraded: expect.stringMatching(degraded) });
  expect([await stuckOnes(second), Number(await heldBy(second)) > 0]).toEqual([1, true]);
  expect((await post(second, '/v1/messages', asking('opal-medium'))).status).toBe(200);
  expect(await recorded(second)).toEqual(['opal-medium', 'opal-medium']);
  await second.stop();

  accept();
  const third = await start(data, log);
  expect(await recorded(third)).toEqual(['opal-medium', 'opal-medium', 'opal-fast']);
  expect(await ready(third)).toEqual({ ok: true });
  expect([await stuckOnes(third), await heldBy(third)]).toEqual([0, 0]);
});
