import { expect, it } from 'vitest';
import type { EventLog } from '../../contracts/event-log.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { type Answered, asking, type Callable, post } from '../fixtures/gateway/call.ts';
import { PATIENT_LEASES } from '../fixtures/gateway/requests-at-once.ts';
import { startTestGateway, type TestGateway } from '../fixtures/gateway/start-gateway.ts';
import { newLedger } from '../fixtures/ledger/new-ledger.ts';
import { startUpstream, type Upstream } from '../upstream/upstream.ts';

/** Limits of an account whose calls come to several proxies of one log. No time passes, so that nothing comes back. */
const PROXIES = 3;
const LIMIT = 12;
const nowMs = Date.now();
let upstream: Upstream;
let log: EventLog;
let gateways: TestGateway[] = [];

async function start(proxies: number): Promise<void> {
  upstream = endedLater(await startUpstream());
  log = await newLedger();
  const rateLimits = { paid: { requestsPerMinute: LIMIT }, keyPercent: 100, proxies };
  const settings = { proxies: 'many', leases: PATIENT_LEASES, rateLimits };
  const options = { upstreamUrl: upstream.url, provider: { countTokens: false }, settings, log, clock: () => nowMs };
  gateways = [];
  for (let count = 0; count < PROXIES; count++) gateways.push(endedLater(await startTestGateway(options)));
}

/** The same key at each of the proxies. */
const targets = (): Callable[] => gateways.map(({ url }) => ({ url, key: gateways[0]?.key ?? '' }));
const ask = (target: Callable, model: string): Promise<Answered> => post(target, '/v1/messages', asking(model));
const limitOf = ({ headers }: Answered) => headers['anthropic-ratelimit-requests-limit'];

/** As many requests as the limit, and half as many more, to each of the proxies; how many were let pass. */
async function passed(model: string): Promise<number> {
  const answers = await Promise.all(
    targets().flatMap((target) => Array.from({ length: LIMIT * 1.5 }, () => ask(target, model))),
  );
  const statuses = answers.map(({ status }) => status);
  expect(new Set(statuses)).toEqual(new Set([200, 429]));
  return statuses.filter((status) => status === 200).length;
}

it('are those of the fleet, where it is said how many there are, also for what is free', async () => {
  await start(PROXIES);
  expect(await passed('svc-mock')).toBe(LIMIT);
  const refused = await ask(targets()[0] ?? { url: '', key: '' }, 'svc-mock');
  expect(refused.text).toContain('limit of 4 requests a minute on this one of 3 proxies is reached');
  expect([limitOf(refused), refused.headers['retry-after']]).toEqual(['4', '15']);
});

it('are those of the fleet once its proxies have leased credit of the account, where it is not said', async () => {
  await start(1);
  // Each knows of those before it.
  for (const [index, target] of targets().entries()) {
    const answered = await ask(target, 'opal-medium');
    expect([answered.status, limitOf(answered)]).toEqual([200, String(LIMIT / (index + 1))]);
  }
  const head = await log.headPosition();
  if (head !== null) for (const { gateway } of gateways) await gateway.process.projections.whenAt(head);
  const limits = await Promise.all(targets().map(async (target) => limitOf(await ask(target, 'opal-none'))));
  expect(limits).toEqual(Array(PROXIES).fill(String(LIMIT / PROXIES)));
  // One has passed at each already, and one was refused.
  expect(await passed('opal-medium')).toBe(LIMIT - 2 * PROXIES);
});
