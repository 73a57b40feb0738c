import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import type { EventLog } from '../../contracts/event-log.ts';
import { accountStream, grantId } from '../../contracts/ids.ts';
import { microUsd } from '../../contracts/money.ts';
import type { StoredEvent } from '../../ledger/audit/stored-event.ts';
import { openSqliteEventLog } from '../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { accountBooks, availableOf } from '../crash/audit/account-books.ts';
import type { ModelPrices } from '../crash/crash-catalog.ts';
import { get } from '../fixtures/gateway/call.ts';
import { type PostedMessage, postMessage } from '../fixtures/gateway/post-message.ts';
import { startTestGateway, type TestGateway } from '../fixtures/gateway/start-gateway.ts';
import { SeededRandom } from '../fixtures/seeded-random.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { json, wait } from '../upstream/answer.ts';
import { message } from '../upstream/message.ts';
import { startUpstream, type Upstream } from '../upstream/upstream.ts';

const PROXIES = 2;
const STEPS = 24;
const SEED = 20_261_122;
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
/** As late as the configuration lets it be at least, so that many are written in a few weeks. */
const LATE_MS = 2 * HOUR_MS;
/** Of TEST_CATALOG's opal-medium. */
const PRICES: ReadonlyMap<string, ModelPrices> = new Map([
  [
    'opal-medium',
    {
      input: 3_000_000n,
      output: 15_000_000n,
      cacheRead: 300_000n,
      cacheWrite5m: 3_750_000n,
      cacheWrite1h: 6_000_000n,
      hasFastLane: false,
      uses: new Map(),
      hasLongWindow: false,
      isCancelled: false,
    },
  ],
]);

const random = new SeededRandom(SEED);
const time = { passedMs: 0 };
const clock = (): number => Date.now() + time.passedMs;

let upstream: Upstream;
let log: EventLog;
let gateways: TestGateway[] = [];
afterEach(async () => {
  await Promise.all(gateways.map((gateway) => gateway.stop()));
  gateways = [];
  await log.close();
  await upstream.close();
});

/** So many proxies on one log, for whom time goes by as the test says: by both of their clocks. */
async function start(): Promise<TestGateway> {
  upstream = await startUpstream();
  log = await openSqliteEventLog({ path: join(temporaryFolder(), 'ledger.db') });
  for (let count = 0; count < PROXIES; count++)
    gateways.push(
      await startTestGateway({
        upstreamUrl: upstream.url,
        provider: { countTokens: false },
        settings: { proxies: 'many', expiry: { lateMs: LATE_MS } },
        log,
        clock,
        monotonic: () => performance.now() + time.passedMs,
        creditsMicroUsd: 300_000n,
      }),
    );
  const [first] = gateways;
  if (first === undefined) throw new Error('no gateway');
  return first;
}

/** Of one account at all proxies, some of which are refused for want of credit; those that are served wait at the gate. */
async function admitted({ key }: TestGateway, gate: Promise<void>): Promise<Promise<PostedMessage>[]> {
  const before = upstream.requests.length;
  let refused = 0;
  upstream.answerWith(({ body }) => {
    const output = random.whole(1, JSON.parse(body.toString('utf8')).max_tokens);
    return [wait(gate), ...json(message({ tokens: { input: 500, output } }))];
  });
  const posted = gateways.flatMap(({ url }) =>
    Array.from({ length: random.whole(0, 3) }, () =>
      postMessage({ url, key }, { maxTokens: random.whole(100, 1_000) }).then((answer) => {
        if (answer.status === 402) refused++;
        return answer;
      }),
    ),
  );
  await expect.poll(() => upstream.requests.length - before + refused).toBe(posted.length);
  return posted;
}

async function storedEvents({ accountId }: TestGateway): Promise<StoredEvent[]> {
  const stored: StoredEvent[] = [];
  for await (const { revision, position, id, type, data, metadata } of log.readStream(accountStream(accountId)))
    stored.push({ revision, position, id, type, data: JSON.parse(data), metadata: JSON.parse(metadata) });
  return stored;
}

it('in weeks of requests, small grants that end and sweeps, at two proxies, every credit is debited, expired or left, once', async () => {
  const first = await start();
  let lowest = Number.POSITIVE_INFINITY;
  for (let step = 0; step < STEPS; step++) {
    const amount = microUsd(BigInt(random.whole(5_000, 80_000)));
    await first.command({
      type: 'GrantCredits',
      grantId: grantId(`grant_${step}`),
      source: 'promotion',
      amount,
      costBasis: microUsd(0n),
      priority: random.whole(1, 150),
      effectiveAtMs: clock(),
      expiresAtMs: clock() + random.whole(10 * MINUTE_MS, 12 * HOUR_MS),
    });
    const gate = Promise.withResolvers<void>();
    const posted = await admitted(first, gate.promise);
    // Some grants end while requests that they could pay are under way.
    time.passedMs += random.whole(0, 50 * MINUTE_MS);
    await Promise.all(gateways.map(({ gateway }) => gateway.process.sweeper.sweep()));
    gate.resolve();
    for (const answered of posted) await (await answered).rest();
    await Promise.all(gateways.map(({ gateway }) => gateway.process.settlement.idle()));
    time.passedMs += random.whole(0, random.chance(0.6) ? 3 * HOUR_MS : 30 * HOUR_MS);
    await Promise.all(gateways.map(({ gateway }) => gateway.process.sweeper.sweep()));
    const { body } = await get(first, '/me');
    lowest = Math.min(lowest, (body as { available_credits: number }).available_credits);
  }
  const events = await storedEvents(first);
  const books = accountBooks(first.accountId, events, PRICES);
  expect(books.faults).toEqual([]);
  const count = (type: string): number => events.filter((event) => event.type === type).length;
  expect(count('CreditsExpired')).toBeGreaterThan(STEPS / 4);
  expect(count('CreditsDebited')).toBeGreaterThan(STEPS);
  expect(lowest).toBeGreaterThanOrEqual(0);
  expect(books.uncovered).toBe(0n);
  await expect
    .poll(async () => ((await get(first, '/me')).body as { available_credits: number }).available_credits)
    .toBe(Number(availableOf(books, clock())));
});
