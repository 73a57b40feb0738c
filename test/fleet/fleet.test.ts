import { describe, expect, it } from 'vitest';
import type { EventLog } from '../../contracts/event-log.ts';
import type { DomainEvent, EventData, EventType } from '../../contracts/events.ts';
import { grantId, keyId } from '../../contracts/ids.ts';
import { microUsd } from '../../contracts/money.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { postMessage } from '../fixtures/gateway/post-message.ts';
import { PATIENT_LEASES, REQUESTS, requestsAtOnce, WORST_MICRO_USD } from '../fixtures/gateway/requests-at-once.ts';
import { startTestGateway, type TestGateway } from '../fixtures/gateway/start-gateway.ts';
import { newLedger } from '../fixtures/ledger/new-ledger.ts';
import { startUpstream, type Upstream } from '../upstream/upstream.ts';

const PROXIES = 3;
const FITTING = 10;
const PLENTY = 1_000_000_000n;

let upstream: Upstream;
let log: EventLog;
let gateways: TestGateway[] = [];

async function start(creditsMicroUsd: bigint): Promise<void> {
  upstream = endedLater(await startUpstream());
  log = await newLedger();
  const options = {
    upstreamUrl: upstream.url,
    provider: { countTokens: false },
    settings: { proxies: 'many', leases: PATIENT_LEASES },
    log,
  };
  gateways = [];
  for (let count = 0; count < PROXIES; count++)
    gateways.push(endedLater(await startTestGateway({ ...options, creditsMicroUsd })));
}

/** The same account and key at each of the proxies. */
const targets = () => gateways.map(({ url }) => ({ url, key: first().key }));

function first(): TestGateway {
  const [gateway] = gateways;
  if (gateway === undefined) throw new Error('no gateway');
  return gateway;
}

describe(`${PROXIES} proxies on one log`, () => {
  it(`admit ${FITTING} of ${REQUESTS} parallel requests where ${FITTING} worst cases fit, and all credit comes back`, async () => {
    const credit = BigInt(FITTING) * WORST_MICRO_USD;
    await start(credit);
    const { reached, answered, refusals } = await requestsAtOnce(targets(), upstream);
    expect(reached).toBe(FITTING);
    expect(answered).toBe(FITTING);
    expect(new Set(refusals.map(({ status }) => status))).toEqual(new Set([402]));
    const debits = of('CreditsDebited', await settledEvents());
    expect(debits).toHaveLength(FITTING);
    expect(debits.filter(({ uncovered, balanceAfter }) => uncovered > 0n || balanceAfter < 0n)).toEqual([]);
    // A request for everything that is left passes at once, at any of them.
    const left = credit - debits.reduce((sum, { amount }) => sum + amount, 0n);
    const statuses = await Promise.all(targets().map(async (target) => (await whole(target, left)).status));
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThan(0);
  });

  it('settle requests of one account side by side, each once, and end with the same views', async () => {
    await start(PLENTY);
    const each = 60;
    // A refusal in its own words: its status alone says nothing.
    const post = async (target: { url: string; key: string }): Promise<string> => {
      const answer = await postMessage(target, { maxTokens: 100 });
      const said = await answer.rest();
      return answer.status === 200 ? '200' : `${answer.status} ${said}`;
    };
    const answers = await Promise.all(Array.from({ length: each }, () => targets().map(post)).flat());
    expect(new Set(answers)).toEqual(new Set(['200']));
    const events = await settledEvents();
    const usages = of('UsageRecorded', events).map(({ requestId }) => requestId);
    expect(new Set(usages).size).toBe(each * PROXIES);
    expect(usages).toHaveLength(each * PROXIES);
    expect(of('CreditsDebited', events)).toHaveLength(each * PROXIES);
    await expectSameViews();
  });

  it('lease for many requests at a time', async () => {
    await start(PLENTY);
    for (let count = 0; count < 50; count++) await (await postMessage(first(), { maxTokens: 100 })).rest();
    const events = await settledEvents();
    expect(of('UsageRecorded', events)).toHaveLength(50);
    expect(of('CreditsLeased', events).length).toBeLessThan(3);
    expect(of('CreditsDebited', events).every(({ leaseId }) => leaseId !== undefined)).toBe(true);
  });

  it('see what is written anywhere: a key, its revocation, credits, limits of the account and of a member', async () => {
    await start(0n);
    const issued = await first().issueKey();
    const statusAtAll = () =>
      Promise.all(
        gateways.map(async ({ url }) => {
          const answer = await postMessage({ url, key: issued.key }, { maxTokens: 100 });
          await answer.rest();
          return answer.status;
        }),
      );
    await seen(async () => expect(await statusAtAll()).toEqual([402, 402, 402]));
    const grant = {
      source: 'purchase',
      costBasis: microUsd(1n),
      priority: 1,
      effectiveAtMs: 0,
      expiresAtMs: null,
    } as const;
    await first().command({ type: 'GrantCredits', grantId: grantId('more'), amount: microUsd(PLENTY), ...grant });
    await seen(async () => expect(await statusAtAll()).toEqual([200, 200, 200]));
    for (const member of [null, 'test@example.com']) {
      const limit = { type: 'SetSpendLimit', keyId: null, member, limit: microUsd(1n), nowMs: Date.now() } as const;
      await first().command({ ...limit, mode: 'soft' });
      await first().command(limit);
      await seen(async () => expect(await statusAtAll()).toEqual([402, 402, 402]));
      await first().command({ ...limit, mode: 'soft' });
      await seen(async () => expect(await statusAtAll()).toEqual([200, 200, 200]));
    }
    await first().command({ type: 'RevokeKey', keyId: keyId(issued.keyId), nowMs: Date.now() });
    await seen(async () => expect(await statusAtAll()).toEqual([401, 401, 401]));
  });

  it("give back a lease that nobody uses when another proxy's request needs it", async () => {
    // Each lease takes an eighth of what is free beyond its need: without giving back the last request would not fit.
    const credit = 2n * WORST_MICRO_USD;
    await start(credit);
    for (const [index, target] of targets().entries()) {
      const answer = await postMessage(target, { maxTokens: 1_000 });
      await answer.rest();
      expect([index, answer.status]).toEqual([index, 200]);
    }
  });

  it('give back all leases when they stop', async () => {
    await start(PLENTY);
    for (const target of targets()) await (await postMessage(target, { maxTokens: 100 })).rest();
    for (const gateway of gateways.slice(1)) await gateway.gateway.stop();
    await seen(async () => {
      const { state } = first().gateway.process.projections.accounts.read(first().accountId);
      expect(state.type === 'open' ? Object.keys(state.leases) : []).toHaveLength(1);
    });
  });
});

/** Something that must come true. */
async function seen(check: () => Promise<void>): Promise<void> {
  await expect
    .poll(async () =>
      check().then(
        () => true,
        () => false,
      ),
    )
    .toBe(true);
  await check();
}

async function settledEvents(): Promise<DomainEvent[]> {
  await Promise.all(gateways.map(({ gateway }) => gateway.process.settlement.idle()));
  return first().events();
}

const of = <T extends EventType>(type: T, events: readonly DomainEvent[]): EventData<T>[] =>
  events.flatMap((event) => (event.type === type ? [event.data as EventData<T>] : []));

async function expectSameViews(): Promise<void> {
  const head = await log.headPosition();
  if (head === null) throw new Error('the log is empty');
  await Promise.all(gateways.map(({ gateway }) => gateway.process.projections.whenAt(head)));
  const [one, ...others] = gateways.map(({ gateway, accountId }) =>
    gateway.process.projections.accounts.read(accountId),
  );
  for (const other of others) expect(other).toEqual(one);
}

/** A request whose worst case is just what is left. */
async function whole(target: { url: string; key: string }, credit: bigint) {
  const outputTokens = (credit - WORST_MICRO_USD) / 15n;
  const answer = await postMessage(target, { maxTokens: 1_000 + Number(outputTokens) });
  await answer.rest();
  return answer;
}
