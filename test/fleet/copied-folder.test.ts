import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { EventLog } from '../../contracts/event-log.ts';
import type { DomainEvent, EventData, EventType } from '../../contracts/events.ts';
import { openSqliteEventLog } from '../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { type PostOptions, postMessage, startPost } from '../fixtures/gateway/post-message.ts';
import { WORST_MICRO_USD } from '../fixtures/gateway/requests-at-once.ts';
import { startTestGateway, type TestGateway } from '../fixtures/gateway/start-gateway.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { json, wait } from '../upstream/answer.ts';
import { message } from '../upstream/message.ts';
import { startUpstream, type Upstream } from '../upstream/upstream.ts';

const FITTING = 6;
/** Of the requests those that are under way when the folder is copied. */
const BEFORE = 3;

let upstream: Upstream;
let log: EventLog;
let gateways: TestGateway[] = [];
/** All clocks go on at their own pace, so far ahead. */
const clock = { aheadMs: 0 };

beforeEach(async () => {
  upstream = await startUpstream();
  log = await openSqliteEventLog({ path: join(temporaryFolder(), 'ledger.db') });
});
afterEach(async () => {
  await Promise.all(gateways.map((gateway) => gateway.stop()));
  gateways = [];
  clock.aheadMs = 0;
  await log.close();
  await upstream.close();
});

/** Its log is elsewhere, so a copy of its folder is another proxy; the tests give it the log. */
const ALONE = {
  proxies: 'one',
  eventLog: { kind: 'eventstoredb', connectionString: 'esdb://127.0.0.1:1?tls=false' },
  metrics: { serve: { port: 0 } },
};
/** Longer than the longest request of the default configuration, with all that may come before and after it. */
const LONGEST_MS = 3 * 3_600_000;

const options = (settings: object) => ({
  upstreamUrl: upstream.url,
  provider: { countTokens: false },
  settings: { ...settings } as Readonly<Record<string, unknown>>,
  log,
  clock: () => Date.now() + clock.aheadMs,
  monotonic: () => performance.now() + clock.aheadMs,
  creditsMicroUsd: BigInt(FITTING) * WORST_MICRO_USD,
});

async function start(data?: string, settings: object = { proxies: 'many' }): Promise<TestGateway> {
  const gateway = await startTestGateway({ ...options(settings), ...(data === undefined ? {} : { data }) });
  gateways.push(gateway);
  return gateway;
}

/** It answers with as many tokens as each request may have, once the gate is open. */
function heldUpstream() {
  const gate = Promise.withResolvers<void>();
  const seen = { requests: 0 };
  upstream.answerWith(({ body }) => {
    seen.requests++;
    const output = JSON.parse(body.toString('utf8')).max_tokens;
    return [wait(gate.promise), ...json(message({ tokens: { input: 1, output } }))];
  });
  return { gate, seen };
}

function copyOf(folder: string): string {
  const copy = join(temporaryFolder(), 'copy');
  cpSync(folder, copy, { recursive: true });
  return copy;
}

const of = <T extends EventType>(type: T, events: readonly DomainEvent[]): EventData<T>[] =>
  events.flatMap((event) => (event.type === type ? [event.data as EventData<T>] : []));

describe('a data folder that is copied under load, and both started', () => {
  it('is two proxies under two claims: never more than the credit, every request billed once, the older one says why it stops', async () => {
    const original = await start();
    const { gate, seen } = heldUpstream();
    // Under way in the original when its folder is copied.
    const before = Array.from({ length: 3 }, () => startPost(original));
    await expect.poll(() => seen.requests).toBe(3);
    const copy = await start(copyOf(original.data));
    const target = { url: copy.url, key: original.key };
    await expect
      .poll(async () => (await fetch(`${original.url}/readyz`)).json())
      .toEqual({ ok: false, reason: expect.stringMatching(/another process has claimed the name proxy_/) });
    const refused = await postMessage(original);
    expect(refused.status).toBe(529);
    expect(String(await refused.rest())).toMatch(/this data folder was copied/);
    // As many as come: with what the original holds they never cost more than there is.
    const after = Array.from({ length: 20 }, () => startPost(target));
    await expect.poll(() => seen.requests).toBeGreaterThan(3);
    gate.resolve();
    const answers = await Promise.all([...before, ...after].map(({ answered }) => answered));
    for (const answer of answers) await answer.rest();
    const served = answers.filter(({ status }) => status === 200);
    expect(served.length).toBe(seen.requests);
    await Promise.all(gateways.map(({ gateway }) => gateway.process.settlement.idle()));
    const events = await original.events();
    const usages = of('UsageRecorded', events);
    expect(new Set(usages.map(({ requestId }) => requestId)).size).toBe(usages.length);
    const late = of('LateUsageReported', events).map(({ requestId }) => requestId);
    const billed = usages.filter(({ billable }) => billable).map(({ requestId }) => requestId);
    expect(new Set([...billed, ...late]).size).toBe(seen.requests);
    const debits = of('CreditsDebited', events);
    expect(debits.filter(({ uncovered, balanceAfter }) => uncovered > 0n || balanceAfter < 0n)).toEqual([]);
  });

  it('is one that costs nothing, where there was to be one proxy only, until the original can have nothing under way', async () => {
    const original = await start(undefined, ALONE);
    const { gate, seen } = heldUpstream();
    const before = Array.from({ length: BEFORE }, () => startPost(original));
    await expect.poll(() => seen.requests).toBe(BEFORE);
    const folder = copyOf(original.data);
    // Of these the copy's journal knows nothing.
    const after = Array.from({ length: FITTING - 1 - BEFORE }, () => startPost(original));
    await expect.poll(() => seen.requests).toBe(FITTING - 1);
    const copy = await start(folder, ALONE);
    const target = { url: copy.url, key: original.key };
    const ask = async (options: PostOptions = {}) => {
      const { status, headers, rest } = await postMessage(target, options);
      return { status, retryAfter: headers['retry-after'], text: String(await rest()) };
    };
    expect(await ask()).toEqual({ status: 529, retryAfter: '5', text: expect.stringMatching(/copied or moved/) });
    expect((await ask({ model: 'svc-mock' })).status).toBe(200);
    const degraded = expect.stringMatching(/copied or moved, and another process may still have requests/);
    expect(await (await fetch(`${copy.url}/readyz`)).json()).toEqual({ ok: true, degraded });
    const me = async () => {
      const answer = await fetch(`${copy.url}/me`, { headers: { 'x-api-key': original.key } });
      return (await answer.json()) as { held_credits: number };
    };
    expect((await me()).held_credits).toBe(BEFORE * Number(WORST_MICRO_USD));
    await expect.poll(() => sampleOf(original, 'gateway_fenced')).toBe('1');
    expect(await sampleOf(copy, 'gateway_fenced')).toBe('0');
    gate.resolve();
    for (const { answered } of [...before, ...after]) await (await answered).rest();
    await original.gateway.process.settlement.idle();
    await expect.poll(async () => (await me()).held_credits).toBe(0);
    expect((await ask()).status).toBe(529);
    clock.aheadMs += LONGEST_MS;
    await expect.poll(async () => (await ask()).status).toBe(200);
    let last = 200;
    while (last === 200) last = (await ask()).status;
    expect(last).toBe(402);
    await copy.gateway.process.settlement.idle();
    const events = await original.events();
    // And the one that cost nothing.
    expect(of('UsageRecorded', events).map(({ outcome }) => outcome)).toEqual(
      Array(seen.requests + 1).fill('completed'),
    );
    expect(of('CreditsDebited', events)).toHaveLength(seen.requests);
    expect(of('CreditsDebited', events).filter(({ uncovered }) => uncovered > 0n)).toEqual([]);
  });
});

async function sampleOf({ gateway }: TestGateway, name: string): Promise<string | undefined> {
  const text = await (await fetch(`${gateway.metricsUrl}/metrics`)).text();
  return new RegExp(`^${name} (.*)$`, 'm').exec(text)?.[1];
}
