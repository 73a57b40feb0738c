import { describe, expect, it, onTestFinished } from 'vitest';
import { catalogEntry } from '../fixtures/catalog-entry.ts';
import { postMessage, recorded, startPost } from '../fixtures/gateway/post-message.ts';
import type { TestGateway, TestGatewayOptions } from '../fixtures/gateway/start-gateway.ts';
import { startOnUpstream } from '../fixtures/gateway/start-on-upstream.ts';
import { json, silence } from '../upstream/answer.ts';
import { message } from '../upstream/message.ts';
import type { Upstream } from '../upstream/upstream.ts';

const REQUESTS = 100;
const TRIAL = 5_000_000n;
/** What one search may bring, far beyond the request's bytes: 0.45 USD at 3.00 USD per million. */
const SEARCHED_TOKENS = 150_000;
const price = { input: '3.00', output: '15.00', uses: { web_search_requests: '0.01' } };
const CATALOG = { models: [catalogEntry('opal-searching', { price })] };
const messages = [{ role: 'user', content: 'Hello. Tell me of the river and of the hills behind it.' }];
const search = { type: 'web_search_20250305', name: 'web_search', max_uses: 1 };

let upstream: Upstream;
let gateway: TestGateway;

async function start(options: TestGatewayOptions = {}): Promise<void> {
  const given = { catalog: CATALOG, creditsMicroUsd: TRIAL, ...options };
  ({ upstream, gateway } = await startOnUpstream(onTestFinished, given));
}

describe(`${REQUESTS} parallel requests on a trial of 5 USD`, () => {
  it('that search the web spend no more than there is, though a count sees none of what the search brings', async () => {
    await start();
    upstream.answerWith(({ path }) =>
      path.endsWith('/count_tokens')
        ? json({ input_tokens: 12 })
        : json(
            message({
              tokens: { input: SEARCHED_TOKENS, output: 10 },
              serverToolUse: { web_search_requests: 1 },
            }),
          ),
    );
    const post = async (): Promise<number> => {
      const answer = await postMessage(gateway, { model: 'opal-searching', maxTokens: 10, body: { tools: [search] } });
      await answer.rest();
      return answer.status;
    };
    const statuses = await Promise.all(Array.from({ length: REQUESTS }, post));
    expect(new Set(statuses)).toEqual(new Set([200, 402]));
    const { debits } = await recorded(gateway);
    expect(debits).toHaveLength(statuses.filter((status) => status === 200).length);
    expect(
      debits.filter(({ uncovered, leftOut, balanceAfter }) => uncovered + leftOut > 0n || balanceAfter < 0n),
    ).toEqual([]);
    expect(await available()).toBe(Number(TRIAL - debits.reduce((sum, { amount }) => sum + amount, 0n)));
  });

  it('whose clients all leave before the head pay for their input, and for no more than there is', async () => {
    await start({ provider: { onClientDisconnect: 'cancel' } });
    upstream.answerWith(({ path }) => (path.endsWith('/count_tokens') ? json({ input_tokens: 500 }) : [silence]));
    const leaving = Array.from({ length: REQUESTS }, async (_, index) => {
      const { answered, leave } = startPost(gateway, { model: 'opal-searching', maxTokens: 10, body: { messages } });
      answered.catch(() => undefined);
      await upstream.seen(index);
      leave();
    });
    await Promise.all(leaving);
    await expect.poll(async () => (await recorded(gateway)).usages.length).toBe(REQUESTS);
    const { usages, debits } = await recorded(gateway);
    expect(usages.filter(({ outcome, source }) => outcome !== 'client_disconnected' || source !== 'estimated')).toEqual(
      [],
    );
    expect(debits).toHaveLength(REQUESTS);
    expect(debits.filter(({ amount, balanceAfter }) => amount === 0n || balanceAfter < 0n)).toEqual([]);
    expect(await available()).toBe(Number(TRIAL - debits.reduce((sum, { amount }) => sum + amount, 0n)));
  });
});

async function available(): Promise<number> {
  const answer = await fetch(`${gateway.url}/me`, { headers: { 'x-api-key': gateway.key } });
  return ((await answer.json()) as { available_credits: number }).available_credits;
}
