import { describe, expect, it, onTestFinished } from 'vitest';
import type { EventData } from '../../contracts/events.ts';
import { microUsd } from '../../contracts/money.ts';
import { type PostOptions, postMessage, recorded } from '../fixtures/gateway/post-message.ts';
import {
  MAX_TOKENS,
  PATIENT_LEASES,
  RATES,
  REQUESTS,
  type Refused,
  requestsAtOnce,
  WORST_MICRO_USD,
} from '../fixtures/gateway/requests-at-once.ts';
import type { TestGateway, TestGatewayOptions } from '../fixtures/gateway/start-gateway.ts';
import { startOnUpstream } from '../fixtures/gateway/start-on-upstream.ts';
import { SeededRandom } from '../fixtures/seeded-random.ts';
import { json } from '../upstream/answer.ts';
import { message } from '../upstream/message.ts';
import type { Upstream } from '../upstream/upstream.ts';

const FITTING = 10;
const ACCOUNT_ALONE = 1_000_000_000n;
const CREDIT = BigInt(FITTING) * WORST_MICRO_USD;

let upstream: Upstream;
let gateway: TestGateway;

async function start(options: TestGatewayOptions = {}): Promise<void> {
  ({ upstream, gateway } = await startOnUpstream(onTestFinished, { provider: { countTokens: false }, ...options }));
}

/** A proxy that leases its credit is no different from outside, so long as it is alone. */
describe.each(['one', 'many'])('with `proxies: %s`', (proxies) => {
  const settings = { proxies, leases: PATIENT_LEASES };
  describe(`${REQUESTS} parallel requests where exactly ${FITTING} worst cases fit`, () => {
    it('the balance: as many are admitted, the others get 402, and what they cost less comes back', async () => {
      await start({ settings, creditsMicroUsd: CREDIT });
      const { refusals } = await burst({});
      expectRefusals(refusals, 'the balance does not cover this request: ');
      const { debits } = await recorded(gateway);
      expectCheaperDebits(debits);
      expect(await me(gateway.key)).toMatchObject({
        held_credits: 0,
        available_credits: Number(CREDIT - sumOf(debits)),
      });
    });

    it("the account's monthly limit: likewise", async () => {
      await start({ settings, creditsMicroUsd: ACCOUNT_ALONE });
      await gateway.command({ type: 'SetSpendLimit', keyId: null, limit: microUsd(CREDIT), nowMs: Date.now() });
      const { refusals } = await burst({});
      expectRefusals(refusals, `the account's monthly limit of ${usd(CREDIT)} USD does not cover this request: `);
      const { debits } = await recorded(gateway);
      expectCheaperDebits(debits);
      expect(debits.filter(({ monthToDateAfter }) => monthToDateAfter > CREDIT)).toEqual([]);
      expect(await me(gateway.key)).toMatchObject({
        held_credits: 0,
        month: { account: { limit: Number(CREDIT), spent: Number(sumOf(debits)) } },
      });
    });

    it("the key's monthly limit: likewise, and the account's other key is free to go on", async () => {
      await start({ settings, creditsMicroUsd: ACCOUNT_ALONE });
      const limited = await gateway.issueKey({ monthlyLimit: microUsd(CREDIT) });
      const { refusals } = await burst({ key: limited.key });
      expectRefusals(refusals, `the key's monthly limit of ${usd(CREDIT)} USD does not cover this request: `);
      const { debits } = await recorded(gateway);
      expectCheaperDebits(debits);
      expect(debits.filter(({ keyMonthToDateAfter }) => keyMonthToDateAfter > CREDIT)).toEqual([]);
      expect(await me(limited.key)).toMatchObject({
        held_credits: 0,
        month: { key: { limit: Number(CREDIT), spent: Number(sumOf(debits)) } },
      });
      expect((await postMessage(gateway)).status).toBe(200);
    });
  });

  describe('requests that go on coming while answers come', () => {
    const CLIENTS = 40;
    const EACH = 20;
    const INPUT_TOKENS_MAX = 2_000;

    it('never cost more than the credit, whether their input is bounded or counted', async () => {
      await start({ settings, creditsMicroUsd: CREDIT, provider: {} });
      const second = await gateway.issueKey();
      const statuses = await mixedBurst([gateway.key, second.key]);
      expectBothKinds(statuses);
      const { debits, usages } = await recorded(gateway);
      expect(usages).toHaveLength(statuses.filter((status) => status === 200).length);
      expectNeverBelowZero(debits, CREDIT);
      expect(await me(gateway.key)).toMatchObject({
        held_credits: 0,
        available_credits: Number(CREDIT - sumOf(debits)),
      });
    });

    it("never cost more than the key's limit or the account's", async () => {
      await start({ settings, creditsMicroUsd: ACCOUNT_ALONE, provider: {} });
      const ofAccount = CREDIT * 2n;
      await gateway.command({ type: 'SetSpendLimit', keyId: null, limit: microUsd(ofAccount), nowMs: Date.now() });
      const limited = await gateway.issueKey({ monthlyLimit: microUsd(CREDIT) });
      expectBothKinds(await mixedBurst([limited.key, gateway.key]));
      const { debits } = await recorded(gateway);
      expect(debits.length).toBeGreaterThan(FITTING);
      expect(debits.filter(({ monthToDateAfter }) => monthToDateAfter > ofAccount)).toEqual([]);
      const ofLimited = debits.filter(({ keyId }) => keyId === limited.keyId);
      expect(ofLimited.length).toBeGreaterThan(FITTING / 2);
      expect(ofLimited.filter(({ keyMonthToDateAfter }) => keyMonthToDateAfter > CREDIT)).toEqual([]);
      expect(await me(limited.key)).toMatchObject({ held_credits: 0 });
    });

    /**
     * Clients that send requests of random size one after the other; every third costs all that it could. An append takes
     * longer than an answer, so requests meet the time between an answer and its debit.
     */
    async function mixedBurst(keys: readonly string[]): Promise<number[]> {
      const random = new SeededRandom(7);
      upstream.answerWith(({ path, body }) => {
        const sent = JSON.parse(body.toString('utf8'));
        // The input's true count, which count_tokens says, too: a token for each byte of its text.
        const input = sent.messages[0].content.length;
        if (path.endsWith('/count_tokens')) return json({ input_tokens: input });
        const output = random.chance(0.33) ? sent.max_tokens : random.whole(1, sent.max_tokens);
        return json(message({ model: sent.model, tokens: { input, output } }));
      });
      const statuses: number[] = [];
      const client = async (key: string): Promise<void> => {
        for (let count = 0; count < EACH; count++) {
          const messages = [{ role: 'user', content: 'x'.repeat(random.whole(1, INPUT_TOKENS_MAX)) }];
          const answer = await postMessage(gateway, {
            key,
            maxTokens: random.whole(1, MAX_TOKENS),
            body: { messages },
          });
          await answer.rest();
          statuses.push(answer.status);
        }
      };
      await Promise.all(Array.from({ length: CLIENTS }, (_, index) => client(keys[index % keys.length] ?? '')));
      return statuses;
    }

    function expectBothKinds(statuses: readonly number[]): void {
      expect(new Set(statuses)).toEqual(new Set([200, 402]));
    }
  });
});

async function burst(options: PostOptions): Promise<{ refusals: readonly Refused[] }> {
  const { reached, answered, refusals } = await requestsAtOnce([gateway], upstream, options);
  expect(reached).toBe(FITTING);
  expect(answered).toBe(FITTING);
  return { refusals };
}

function expectRefusals(refusals: readonly Refused[], beginning: string): void {
  expect(refusals).toHaveLength(REQUESTS - FITTING);
  const worst = usd(WORST_MICRO_USD);
  for (const { status, error } of refusals) {
    expect(status).toBe(402);
    expect(error.type).toBe('billing_error');
    expect(error.message.startsWith(`${beginning}it could cost ${worst} USD with max_tokens ${MAX_TOKENS}, `)).toBe(
      true,
    );
    // Every refusal comes after the tenth hold: nothing is left, everything is held.
    expect(error.message).toContain(`0.00 USD is left (${usd(CREDIT)} USD more is held for requests under way)`);
    expect(error.message).toContain('no max_tokens would pass for this input');
  }
}

function expectCheaperDebits(debits: readonly EventData<'CreditsDebited'>[]): void {
  expect(debits).toHaveLength(FITTING);
  const cost = 100n * RATES.input + BigInt(MAX_TOKENS / 10) * RATES.output;
  expect(debits.filter((debit) => debit.cost !== cost)).toEqual([]);
  expect(sumOf(debits)).toBe((cost * BigInt(FITTING)) / 1_000_000n);
  expect(sumOf(debits) < CREDIT).toBe(true);
  expect(belowZero(debits)).toEqual([]);
}

function expectNeverBelowZero(debits: readonly EventData<'CreditsDebited'>[], credit: bigint): void {
  expect(debits.length).toBeGreaterThan(FITTING);
  expect(belowZero(debits)).toEqual([]);
  const last = debits.at(-1);
  expect(last?.balanceAfter).toBe(credit - sumOf(debits));
}

/** Debits that took more than was there. */
const belowZero = (debits: readonly EventData<'CreditsDebited'>[]): readonly EventData<'CreditsDebited'>[] =>
  debits.filter(({ balanceAfter, uncovered }) => balanceAfter < 0n || uncovered !== 0n);

async function me(key: string): Promise<unknown> {
  return (await fetch(`${gateway.url}/me`, { headers: { 'x-api-key': key } })).json();
}

const sumOf = (debits: readonly EventData<'CreditsDebited'>[]): bigint =>
  debits.reduce((sum, { amount }) => sum + amount, 0n);

/** Micro-USD as the messages write them: two to six decimals. */
function usd(amount: bigint): string {
  const decimals = (amount % 1_000_000n)
    .toString()
    .padStart(6, '0')
    .replace(/0{1,4}$/, '');
  return `${amount / 1_000_000n}.${decimals}`;
}
