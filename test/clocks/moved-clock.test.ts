import { describe, expect, it, onTestFinished } from 'vitest';
import type { DomainEvent, EventData, EventType } from '../../contracts/events.ts';
import { isAccountEvent } from '../../contracts/events.ts';
import { grantId } from '../../contracts/ids.ts';
import { microUsd } from '../../contracts/money.ts';
import { asking, get, post, refusalOf } from '../fixtures/gateway/call.ts';
import { postMessage } from '../fixtures/gateway/post-message.ts';
import type { TestGateway, TestGatewayOptions } from '../fixtures/gateway/start-gateway.ts';
import { startOnUpstream } from '../fixtures/gateway/start-on-upstream.ts';
import { PlainLedger } from '../fixtures/ledger/plain-ledger.ts';
import { json, wait } from '../upstream/answer.ts';
import { defaultAnswer } from '../upstream/default-answer.ts';
import { message } from '../upstream/message.ts';

const DAY_MS = 86_400_000;
const STEADY_MS = 60_000;
const JUMPED =
  /^the clock of this machine has jumped by 40 days; nothing is admitted until it has been steady for 60 s$/;
/** Of TEST_CATALOG's opal-medium. */
const PRICE = { input: 3_000_000n, output: 15_000_000n, hasFast: false };

/** What the machine's clocks have over the real ones: both when time goes by, the wall clock alone when it jumps. */
const moved = { passedMs: 0, jumpedMs: 0 };
const clocks = {
  clock: () => Date.now() + moved.passedMs + moved.jumpedMs,
  monotonic: () => performance.now() + moved.passedMs,
};

function start(options: TestGatewayOptions = {}) {
  onTestFinished(() => void Object.assign(moved, { passedMs: 0, jumpedMs: 0 }));
  return startOnUpstream(onTestFinished, { ...clocks, creditsMicroUsd: 0n, ...options });
}

/** Credits for 30 days. */
const grantFor30Days = (gateway: TestGateway, amount: bigint) =>
  gateway.command({
    type: 'GrantCredits',
    grantId: grantId('grant_month'),
    source: 'purchase',
    amount: microUsd(amount),
    costBasis: microUsd(amount),
    priority: 100,
    effectiveAtMs: clocks.clock() - 1_000,
    expiresAtMs: clocks.clock() + 30 * DAY_MS,
  });

const of = <T extends EventType>(type: T, events: readonly DomainEvent[]): EventData<T>[] =>
  events.flatMap((event) => (event.type === type ? [event.data as EventData<T>] : []));

/** An independent reckoning of the account's stream, which throws where it disagrees. */
async function reckon(gateway: TestGateway): Promise<PlainLedger> {
  const plain = new PlainLedger(PRICE);
  for (const event of await gateway.events()) if (isAccountEvent(event)) plain.take(event);
  return plain;
}

const sendOne = (gateway: TestGateway) => post(gateway, '/v1/messages', asking('opal-medium'));

describe('a clock that is 40 days ahead for three seconds, under load', () => {
  it('destroys not a cent and makes no debt: what was admitted settles, nothing is admitted, and then it goes on', async () => {
    const { gateway, upstream } = await start();
    await grantFor30Days(gateway, 500_000_000n);
    const release = Promise.withResolvers<void>();
    let held = 0;
    upstream.answerWith((request) => {
      if (held++ >= 20) return defaultAnswer(request);
      return [wait(release.promise), ...json(message({ tokens: { input: 100, output: 40 } }))];
    });
    const underWay = Array.from({ length: 20 }, () => postMessage(gateway, { maxTokens: 1_000 }));
    await expect.poll(() => upstream.requests.length).toBe(20);
    const before = clocks.clock();

    moved.jumpedMs = 40 * DAY_MS;
    // The first request after it sees it; no timer has to have run.
    expect(refusalOf(await sendOne(gateway), 529)).toMatch(JUMPED);
    expect((await get(gateway, '/readyz')).status).toBe(503);
    expect((await get(gateway, '/me')).body).toMatchObject({ available_credits: 500_000_000 });
    expect(await gateway.gateway.process.sweeper.sweep()).toBe(0);
    release.resolve();
    for (const answered of underWay) {
      const answer = await answered;
      await answer.rest();
      expect(answer.status).toBe(200);
    }
    await gateway.gateway.process.settlement.idle();
    moved.passedMs += 3_000;
    expect(refusalOf(await sendOne(gateway), 529)).toMatch(JUMPED);
    moved.jumpedMs = 0;
    expect(refusalOf(await sendOne(gateway), 529)).toMatch(JUMPED);
    moved.passedMs += STEADY_MS - 5_000;
    expect(await gateway.gateway.process.sweeper.sweep()).toBe(0);
    moved.passedMs += 5_000;
    await expect.poll(async () => (await sendOne(gateway)).status).toBe(200);
    expect(await gateway.gateway.process.sweeper.sweep()).toBe(0);

    const events = await gateway.events();
    expect(of('CreditsExpired', events)).toEqual([]);
    const usages = of('UsageRecorded', events);
    expect(usages.length).toBeGreaterThanOrEqual(21);
    for (const { startedAt, finishedAt } of usages) {
      expect(Date.parse(finishedAt)).toBeGreaterThanOrEqual(Date.parse(startedAt));
      expect(Date.parse(finishedAt)).toBeLessThan(before + DAY_MS);
    }
    const plain = await reckon(gateway);
    expect(plain).toMatchObject({ expired: 0n, uncovered: 0n });
    expect((await get(gateway, '/me')).body).toMatchObject({ available_credits: Number(plain.balance) });
  });

  it('ends no key, retires no model, and dates nothing that is written', async () => {
    const { gateway } = await start({ creditsMicroUsd: 1_000_000n });
    const { key } = await gateway.issueKey({ expiresAtMs: clocks.clock() + 30 * DAY_MS });
    moved.jumpedMs = 40 * DAY_MS;
    expect((await get({ ...gateway, key }, '/me')).status).toBe(200);
    const requestId = String((await sendOne(gateway)).headers['request-id']);
    const idMs = Number.parseInt(requestId.slice(4, 16), 16);
    expect(Math.abs(idMs - Date.now())).toBeLessThan(DAY_MS);
  });
});

describe('a machine that was suspended for 40 days', () => {
  it('admits nothing on its first turn, and a minute later goes by the time that it is', async () => {
    const { gateway } = await start();
    await grantFor30Days(gateway, 500_000_000n);
    expect((await sendOne(gateway)).status).toBe(200);
    await gateway.gateway.process.settlement.idle();
    moved.jumpedMs = 40 * DAY_MS;
    expect(refusalOf(await sendOne(gateway), 529)).toMatch(JUMPED);
    moved.passedMs += STEADY_MS;
    // The credits have ended meanwhile, and nobody was billed in between.
    await expect.poll(async () => (await sendOne(gateway)).status).toBe(402);
    expect(await gateway.gateway.process.sweeper.sweep()).toBe(1);
    expect(await reckon(gateway)).toMatchObject({ uncovered: 0n, balance: 0n });
  });

  it('leases nothing by the time of before: another proxy may have what it had', async () => {
    const { gateway } = await start({ settings: { proxies: 'many' }, creditsMicroUsd: 1_000_000_000n });
    expect((await sendOne(gateway)).status).toBe(200);
    const leases = async () => of('CreditsLeased', await gateway.events()).length;
    const before = await leases();
    moved.jumpedMs = DAY_MS;
    // Leases are renewed when they age, so by now they would be.
    moved.passedMs += 1_000;
    for (let count = 0; count < 10; count++) refusalOf(await sendOne(gateway), 529);
    expect(await leases()).toBe(before);
    moved.passedMs += STEADY_MS;
    await expect.poll(async () => (await sendOne(gateway)).status).toBe(200);
    expect(await leases()).toBeGreaterThan(before);
    expect(await reckon(gateway)).toMatchObject({ uncovered: 0n });
  });
});

it('a clock that was set back ends no request before it began', async () => {
  const { gateway, upstream } = await start({ creditsMicroUsd: 1_000_000n });
  const release = Promise.withResolvers<void>();
  upstream.answerWith(() => [wait(release.promise), ...json(message({ tokens: { input: 1, output: 1 } }))]);
  const answered = postMessage(gateway, { maxTokens: 10 });
  await upstream.seen(0);
  moved.jumpedMs = -40 * DAY_MS;
  refusalOf(await sendOne(gateway), 529);
  moved.passedMs += STEADY_MS + 1_000;
  // It is believed again, 40 days before the request began.
  await expect.poll(async () => (await get(gateway, '/readyz')).status).toBe(200);
  release.resolve();
  await (await answered).rest();
  const [usage] = of('UsageRecorded', await gateway.events());
  const took = Date.parse(usage?.finishedAt ?? '') - Date.parse(usage?.startedAt ?? '');
  expect(took).toBeGreaterThanOrEqual(STEADY_MS);
  expect(took).toBeLessThan(DAY_MS);
});

describe('at its start a gateway', () => {
  it('whose clock is behind the ledger’s newest event admits nothing until it has been steady for a minute', async () => {
    const first = await start({ creditsMicroUsd: 1_000_000_000n });
    await first.gateway.stop();
    moved.jumpedMs = -DAY_MS;
    const logLines: string[] = [];
    const { gateway } = await start({ data: first.gateway.data, logLines });
    expect(refusalOf(await sendOne(gateway), 529)).toMatch(/is 2\d hours behind the ledger's newest event; nothing is/);
    expect(logLines.filter((line) => line.includes("behind the ledger's newest event"))).not.toEqual([]);
    const isReady = async () => (await get(gateway, '/readyz')).status === 200;
    moved.passedMs += STEADY_MS;
    await expect.poll(isReady).toBe(true);
    // Somebody sets it right: a jump as any other.
    moved.jumpedMs = 0;
    refusalOf(await sendOne(gateway), 529);
    moved.passedMs += STEADY_MS;
    await expect.poll(async () => (await sendOne(gateway)).status).toBe(200);
  });

  it('whose clock is ahead of it was off meanwhile, and serves', async () => {
    const first = await start({ creditsMicroUsd: 1_000_000_000n });
    await first.gateway.stop();
    moved.jumpedMs = 400 * DAY_MS;
    const { gateway } = await start({ data: first.gateway.data });
    expect((await sendOne(gateway)).status).toBe(200);
  });
});
