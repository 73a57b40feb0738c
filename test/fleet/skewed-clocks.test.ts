import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { decodeEvent } from '../../contracts/event-codec.ts';
import type { EventLog } from '../../contracts/event-log.ts';
import { accountStream, grantId } from '../../contracts/ids.ts';
import { microUsd } from '../../contracts/money.ts';
import { openEventStoreDbEventLog } from '../../ledger/event-log/eventstoredb/eventstoredb-event-log.ts';
import { startFakeEventStore } from '../eventstoredb/fake-event-store.ts';
import { StoredLog } from '../eventstoredb/stored-log.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { asking, get, post, refusalOf } from '../fixtures/gateway/call.ts';
import { postMessage } from '../fixtures/gateway/post-message.ts';
import { startTestGateway, type TestGateway } from '../fixtures/gateway/start-gateway.ts';
import { json, wait } from '../upstream/answer.ts';
import { message } from '../upstream/message.ts';
import { startUpstream, type Upstream } from '../upstream/upstream.ts';

const SKEW_MS = 300_000;
const DAY_MS = 86_400_000;
afterEach(() => {
  logLines.length = 0;
});

/** Clocks, moved by hand: of the log's server and of each proxy. */
interface Clocks {
  server: number;
  proxies: [number, number];
}

/** Two proxies on one server of the log, whose clocks are off the true time by so much. */
async function start(clocks: Clocks): Promise<[TestGateway, TestGateway, Upstream]> {
  const upstream = endedLater(await startUpstream());
  const store = endedLater(
    await startFakeEventStore({ log: new StoredLog({ now: () => Date.now() + clocks.server }) }),
  );
  const first = await startOne(store.connectionString, upstream, () => clocks.proxies[0]);
  const second = await startOne(store.connectionString, upstream, () => clocks.proxies[1]);
  return [first, { ...second, key: first.key }, upstream];
}

/** Lines that the gateways of a test have logged. */
const logLines: string[] = [];

async function startOne(connectionString: string, upstream: Upstream, skew: () => number): Promise<TestGateway> {
  const log: EventLog = await openEventStoreDbEventLog({ connectionString });
  onTestFinished(() => log.close());
  return endedLater(
    await startTestGateway({
      log,
      upstreamUrl: upstream.url,
      clock: () => Date.now() + skew(),
      monotonic: () => performance.now(),
      settings: { proxies: 'many', clock: { steadyMs: 500 } },
      logLines,
    }),
  );
}

const send = (gateway: TestGateway) => post(gateway, '/v1/messages', asking('opal-medium'));
const storedEvents = ({ log, accountId }: TestGateway) =>
  Array.fromAsync(log.readStream(accountStream(accountId)), decodeEvent);
const statusOf = async (gateway: TestGateway) => (await send(gateway)).status;

describe('of two proxies on one log', () => {
  it.each([
    ['ahead of', SKEW_MS],
    ['behind', -SKEW_MS],
  ])(
    'the one whose clock is %s that of the server admits nothing and says so, until it is within again',
    async (where, by) => {
      const clocks: Clocks = { server: 0, proxies: [0, by] };
      const [right, wrong] = await start(clocks);
      expect(await statusOf(right)).toBe(200);
      const said = refusalOf(await send(wrong), 529);
      // What is behind was told so by the ledger's newest event already; both reasons are good.
      if (by > 0) expect(said).toBe(`the clock of this machine is 5 minutes ${where} that of the event log`);
      await expect
        .poll(async () => refusalOf(await send(wrong), 529))
        .toMatch(`5 minutes ${where} that of the event log`);
      expect((await get(wrong, '/readyz')).status).toBe(503);
      expect(await statusOf(right)).toBe(200);
      clocks.proxies[1] = 0;
      await expect.poll(() => statusOf(wrong)).toBe(200);
      // And wrong once more, while it runs: it stops at once, and is not believed though it is steady.
      clocks.proxies[1] = by;
      expect(refusalOf(await send(wrong), 529)).toMatch(/has jumped by 5 minutes/);
      await expect
        .poll(async () => refusalOf(await send(wrong), 529))
        .toMatch(`5 minutes ${where} that of the event log`);
      expect(await statusOf(right)).toBe(200);
    },
  );

  it('the one that is 40 days ahead writes down no credits as expired', async () => {
    const [right, wrong] = await start({ server: 0, proxies: [0, 40 * DAY_MS] });
    const nowMs = Date.now();
    await right.command({
      type: 'GrantCredits',
      grantId: grantId('grant_day'),
      source: 'purchase',
      amount: microUsd(5n),
      costBasis: microUsd(5n),
      priority: 1,
      effectiveAtMs: nowMs,
      expiresAtMs: nowMs + DAY_MS,
    });
    const head = await right.log.headPosition();
    if (head !== null) await wrong.gateway.process.projections.whenAt(head);
    expect(await wrong.gateway.process.sweeper.sweep()).toBe(0);
    expect((await storedEvents(right)).filter(({ type }) => type === 'CreditsExpired')).toEqual([]);
  });

  it('the one that is 40 days ahead renews no lease by that', async () => {
    const clocks: Clocks = { server: 0, proxies: [0, 0] };
    const [right, wrong, upstream] = await start(clocks);
    const release = Promise.withResolvers<void>();
    upstream.answerWith(() => [wait(release.promise), ...json(message())]);
    const underWay = postMessage(wrong, { maxTokens: 10 });
    await upstream.seen(0);
    clocks.proxies[1] = 40 * DAY_MS;
    await expect.poll(() => logLines.join('')).toContain('nothing is leased by a clock that is in doubt');
    release.resolve();
    await (await underWay).rest();
    const leased = (await storedEvents(right)).flatMap((event) => (event.type === 'CreditsLeased' ? [event.data] : []));
    expect(leased).not.toHaveLength(0);
    for (const { expiresAt } of leased) expect(Date.parse(expiresAt)).toBeLessThan(Date.now() + DAY_MS);
  });

  it('both serve where their clocks and the server’s are within the bound', async () => {
    const [one, two] = await start({ server: 0, proxies: [-3_000, 3_000] });
    expect([await statusOf(one), await statusOf(two)]).toEqual([200, 200]);
  });

  it('neither admits where it is the server’s clock that is wrong: nobody can say which is', async () => {
    const [one, two] = await start({ server: -SKEW_MS, proxies: [0, 0] });
    for (const gateway of [one, two])
      expect(refusalOf(await send(gateway), 529)).toBe(
        'the clock of this machine is 5 minutes ahead of that of the event log',
      );
  });
});
