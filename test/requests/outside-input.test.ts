import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { pricingSchema } from '../../contracts/answers.ts';
import type { EventData } from '../../contracts/events.ts';
import { asking, call, get, post, refusalOf } from '../fixtures/gateway/call.ts';
import { openAccount } from '../fixtures/gateway/open-account.ts';
import { startTestGateway, TEST_CATALOG, type TestGateway } from '../fixtures/gateway/start-gateway.ts';
import { startOnUpstream } from '../fixtures/gateway/start-on-upstream.ts';
import { countTokens, json } from '../upstream/answer.ts';
import { defaultAnswer } from '../upstream/default-answer.ts';
import { message } from '../upstream/message.ts';
import type { Script } from '../upstream/upstream.ts';

const COUNT = '/v1/messages/count_tokens';
const WINDOW = 200_000;
const LONG = 'context-1m-2025-08-07';
const OWN = 'own-window-2026-01-01';
const medium = TEST_CATALOG.models.find(({ id }) => id === 'opal-medium');
const PRICE = { input: '3.00', output: '15.00' };
const CATALOG = {
  models: [
    ...TEST_CATALOG.models,
    { ...medium, id: 'opal-search', price: { ...PRICE, uses: { web_search_requests: '0.01' } } },
    {
      ...medium,
      id: 'opal-long',
      upstreams: [{ provider: 'test', model: 'long-upstream' }],
      betas: [
        'shipped',
        { name: LONG, context_window: 1_000_000, price: { input: '6.00', output: '22.50' } },
        { name: OWN, context_window: 300_000 },
        { name: 'other-price-2026-01-01', price: PRICE },
      ],
    },
  ],
};
const SEARCH = { type: 'web_search_20250305', name: 'web_search' };

const { upstream, gateway } = await startOnUpstream(afterAll, { catalog: CATALOG });
beforeEach(() => upstream.answerWith(defaultAnswer));

const answering =
  (usage: object, counted = 10): Script =>
  (request) =>
    request.path.startsWith(COUNT)
      ? countTokens(counted)
      : json({ ...message(), usage: { output_tokens: 1, ...usage } });
const paths = (from: number) => upstream.requests.slice(from).map(({ path }) => path);

async function usageOf(id: Parameters<TestGateway['events']>[0]) {
  const events = await gateway.events(id);
  const of = <T extends 'UsageRecorded' | 'CreditsDebited'>(type: T) =>
    events.filter((event) => event.type === type).map(({ data }) => data as EventData<T>);
  return { usages: of('UsageRecorded'), debits: of('CreditsDebited') };
}

describe('input from outside the request', () => {
  it('is held, whatever a count says: 100 searches at once on 5 USD spend no more than there is', async () => {
    // Three rounds that fill the window: before, during and after the one use that is asked for.
    const billed = { input_tokens: 3 * WINDOW, server_tool_use: { web_search_requests: 1 } };
    upstream.answerWith(answering(billed));
    const caller = await openAccount(gateway, { credits: 5_000_000n });
    const sent = upstream.requests.length;
    const body = asking('opal-search', { max_tokens: 100, tools: [{ ...SEARCH, max_uses: 1 }] });
    const answers = await Promise.all(Array.from({ length: 100 }, () => post(caller, '/v1/messages', body)));
    const statuses = answers.map(({ status }) => status);
    // Each may cost 1.80 USD of input, 0.01 for its use and 0.0015 of output: two fit.
    expect(statuses.filter((status) => status === 200)).toHaveLength(2);
    expect(statuses.filter((status) => status === 402)).toHaveLength(98);
    expect(paths(sent).filter((path) => path === COUNT)).toEqual([]);
    const { usages, debits } = await usageOf(caller.accountId);
    expect(usages.map(({ hold }) => hold)).toEqual([1_811_500n, 1_811_500n]);
    expect(debits.map(({ amount, leftOut, uncovered }) => [amount, leftOut, uncovered])).toEqual([
      [1_810_015n, 0n, 0n],
      [1_810_015n, 0n, 0n],
    ]);
    expect((await get(caller, '/me')).body).toMatchObject({ available_credits: 5_000_000 - 2 * 1_810_015 });
  });

  it('is named where the request does not fit: the field, the beta, and what they can bring', async () => {
    const caller = await openAccount(gateway, { credits: 100_000n });
    const message = async (body: object, beta?: string): Promise<string> => {
      const answer = await post(caller, '/v1/messages', body, beta === undefined ? {} : { 'anthropic-beta': beta });
      return refusalOf(answer, 402);
    };
    const searching = asking('opal-search', { max_tokens: 100, tools: [{ ...SEARCH, max_uses: 1 }] });
    expect(await message(searching)).toContain(
      'it could cost 1.8115 USD with max_tokens 100 (1.81 USD of it for the most that tools.0.type can bring), 0.10 USD is left',
    );
    const long = asking('opal-long', { max_tokens: 100, container: 'c' });
    expect(await message(long, LONG)).toMatch(
      /USD of it for the most that container with anthropic-beta context-1m-2025-08-07 can bring\), /,
    );
    expect(await message({ ...searching, tools: [], ['x'.repeat(5_000)]: 1 })).toMatch(
      /most that x{128} can bring, because not all of it is known here: what is not is taken as the worst\), /,
    );
    expect(await message({ ...searching, tools: [], 'a\u0007\u202eb': 1 })).toContain('most that a??b can bring,');
    const often = { ...searching, tools: [{ ...SEARCH, max_uses: 5 }] };
    expect(await message(often)).toMatch(/can bring; tools\.0\.max_uses of 1 to 4 would hold less\), /);
    // Whatever else may be used: less of this tool changes nothing.
    expect(await message({ ...often, next: 1 })).not.toContain('would hold less');
    expect(await message(asking('opal-medium', { max_tokens: 100_000 }))).toContain('max_tokens 100000, 0.10 USD');
    const mayBeCounted = '(a lower one may, once its provider has counted them)';
    const words = asking('opal-medium', { messages: [{ role: 'user', content: 'word '.repeat(60_000) }] });
    expect(await message(words)).toContain(mayBeCounted);
    for (const hopeless of [
      { ...words, max_tokens: 1 },
      { ...words, container: 'c' },
    ])
      expect(await message(hopeless)).toMatch(/no max_tokens would pass for this input by its bytes$/);
  });

  it.each([
    ['a server of tools', { mcp_servers: [{ type: 'url', url: 'https://example.com', name: 'x' }] }],
    ['a container', { container: 'c' }],
    ['a field that nobody knows', { next_field: {} }],
    [
      'a document by its address',
      asking('', {
        messages: [
          { role: 'user', content: [{ type: 'document', source: { type: 'url', url: 'https://example.com/x.pdf' } }] },
        ],
      }),
    ],
  ])('has no count that lowers the hold: %s', async (_title, more) => {
    const caller = await openAccount(gateway, { credits: 100_000n });
    const sent = upstream.requests.length;
    refusalOf(
      await post(caller, '/v1/messages', {
        ...asking('opal-search', { max_tokens: 1 }),
        ...more,
        model: 'opal-search',
      }),
      402,
    );
    expect(paths(sent)).toEqual([]);
  });

  it('a use without a price is refused, with its field, and nothing goes upstream', async () => {
    const caller = await openAccount(gateway, { credits: 100_000_000n });
    const sent = upstream.requests.length;
    const answered = await post(caller, '/v1/messages', asking('opal-medium', { tools: [SEARCH] }));
    expect(refusalOf(answered, 400)).toBe(
      'tools.0.type: the catalog has no price a use (web_search_requests) for model opal-medium',
    );
    for (const type of ['web_search_latest', 'web_search', 'web_search_2026', 'code_execution_next'])
      expect(
        refusalOf(
          await post(
            caller,
            '/v1/messages',
            asking('opal-medium', {
              tools: [
                { name: 't', input_schema: {} },
                { type, name: 'x' },
              ],
            }),
          ),
          400,
        ),
      ).toMatch(/^tools\.1\.type: the catalog has no price a use \((web_search|code_execution)_requests\) for /);
    const asked = await post(caller, '/v1/messages', asking('opal-medium', { fallbacks: 'default' }));
    expect(refusalOf(asked, 400)).toMatch(/^fallbacks: /);
    expect(paths(sent)).toEqual([]);
  });
});

describe('what an answer reports', () => {
  const billedFor = async (model: string, usage: object, more: object = {}) => {
    upstream.answerWith(answering({ input_tokens: 1_000, ...usage }));
    const caller = await openAccount(gateway, { credits: 100_000_000n });
    expect((await post(caller, '/v1/messages', asking(model, more))).status).toBe(200);
    const { usages, debits } = await usageOf(caller.accountId);
    return { usage: usages[0], debit: debits[0] };
  };

  it('of uses with a price is billed by it, with a line of its own', async () => {
    const { usage, debit } = await billedFor(
      'opal-search',
      { server_tool_use: { web_search_requests: 3, web_fetch_requests: 2 } },
      { tools: [{ ...SEARCH, max_uses: 3 }] },
    );
    expect(usage).toMatchObject({ uses: { web_search_requests: 3, web_fetch_requests: 2 }, unpriced: [] });
    expect(debit).toMatchObject({
      amount: 33_015n,
      leftOut: 0n,
      uses: [{ use: 'web_search_requests', count: 3, rate: 10_000_000_000n, cost: 30_000_000_000n }],
    });
  });

  it('of uses and tiers without a price is billed at standard prices, and noted', async () => {
    const { usage, debit } = await billedFor('opal-medium', {
      server_tool_use: { web_search_requests: 3, web_fetch_requests: 0 },
      service_tier: `b\u0000tch${'x'.repeat(500)}`,
      iterations: [{ type: 'message' }, { type: 'advisor_message' }],
    });
    expect(debit).toMatchObject({ amount: 3_015n, uses: [], lane: 'standard' });
    expect(usage).toMatchObject({
      uses: { web_search_requests: 3 },
      unpriced: [
        'server_tool_use.web_search_requests: 3',
        `service_tier: b?tch${'x'.repeat(59)}`,
        'iterations: advisor_message',
      ],
    });
  });

  it.each(['standard', 'priority'])('of the tier %s has a price', async (tier) => {
    const { usage, debit } = await billedFor('opal-fast', { service_tier: tier });
    expect([usage?.unpriced, usage?.lane, debit?.amount]).toEqual([[], 'standard', 3_015n]);
  });
});

describe('a count', () => {
  it('is of the request that goes upstream: its version, the betas that pass, its model there, the fields of a count', async () => {
    upstream.answerWith(answering({ input_tokens: 10 }));
    const caller = await openAccount(gateway, { credits: 20_000n });
    const sent = upstream.requests.length;
    const content = 'word '.repeat(4_000);
    const body = {
      ...asking('opal-long', { max_tokens: 10, messages: [{ role: 'user', content }] }),
      top_k: 5,
      container: null,
    };
    const headers = {
      'anthropic-version': '2026-10-21',
      'anthropic-beta': `unknown-2026-01-01, ${OWN} ,pdfs-2024-09-25`,
    };
    expect((await post(caller, '/v1/messages', body, headers)).status).toBe(200);
    const [count, request] = upstream.requests.slice(sent);
    expect([count?.path, request?.path]).toEqual([COUNT, '/v1/messages']);
    for (const one of [count, request])
      expect(one?.headers).toMatchObject({
        'anthropic-version': '2026-10-21',
        'anthropic-beta': `${OWN},pdfs-2024-09-25`,
      });
    expect(JSON.parse(count?.body.toString() ?? '')).toEqual({ model: 'long-upstream', messages: body.messages });
    expect(JSON.parse(request?.body.toString() ?? '')).toEqual({ ...body, model: 'long-upstream' });
  });

  it('is the largest of the deployments that count, and no other gets the request', async () => {
    upstream.answerWith((request) => {
      const isFirst = request.body.toString().includes('first-place');
      if (!request.path.startsWith(COUNT)) return json({ ...message(), usage: { input_tokens: 1, output_tokens: 1 } });
      return isFirst ? json({ tokens: 'none' }) : countTokens(900);
    });
    const caller = await openAccount(gateway, { credits: BigInt((990 + 64) * 3 + 150) });
    const sent = upstream.requests.length;
    const content = 'word '.repeat(800);
    const body = asking('opal-twice', { max_tokens: 10, messages: [{ role: 'user', content }] });
    expect((await post(caller, '/v1/messages', body)).status).toBe(200);
    const asked = upstream.requests.slice(sent).filter(({ path }) => path === '/v1/messages');
    expect(asked.map((one) => JSON.parse(one.body.toString()).model)).toEqual(['second-place']);
  });

  it.each([
    ['first', 900, 800],
    ['second', 800, 900],
  ])('of the %s place is held by where it is the larger', async (_place, first, second) => {
    upstream.answerWith(({ path, body }) =>
      path.startsWith(COUNT) ? countTokens(body.includes('first-place') ? first : second) : json(message()),
    );
    // Enough for the smaller count only.
    const caller = await openAccount(gateway, { credits: BigInt((880 + 64) * 3 + 150) });
    const sent = upstream.requests.length;
    const content = 'word '.repeat(800);
    const body = asking('opal-twice', { max_tokens: 10, messages: [{ role: 'user', content }] });
    refusalOf(await post(caller, '/v1/messages', body), 402);
    expect(upstream.requests.slice(sent).map(({ path }) => path)).toEqual([COUNT, COUNT]);
  });
});

describe('anthropic-beta', () => {
  const betaSeen = async (model: string, beta: string, more: object = {}) => {
    const caller = await openAccount(gateway, { credits: 100_000_000n });
    const sent = upstream.requests.length;
    expect((await post(caller, '/v1/messages', asking(model, more), { 'anthropic-beta': beta })).status).toBe(200);
    return upstream.requests[sent]?.headers['anthropic-beta'] ?? null;
  };

  it('passes as it is where all of it passes, and is left out where nothing does', async () => {
    expect(await betaSeen('opal-medium', 'pdfs-2024-09-25 ,interleaved-thinking-2025-05-14')).toBe(
      'pdfs-2024-09-25 ,interleaved-thinking-2025-05-14',
    );
    expect(await betaSeen('opal-medium', LONG)).toBe(null);
    expect(await betaSeen('opal-medium', `${LONG},pdfs-2024-09-25`)).toBe('pdfs-2024-09-25');
  });

  it('lets fast mode pass only where fast is asked for and can be had', async () => {
    const FAST = 'fast-mode-2026-02-01';
    expect(await betaSeen('opal-fast', FAST)).toBe(null);
    expect(await betaSeen('opal-medium', FAST, { speed: 'fast' })).toBe(null);
    expect(await betaSeen('opal-fast', FAST, { speed: 'fast' })).toBe(FAST);
    expect(await betaSeen('opal-fast', FAST, { speed: 'standard' })).toBe(FAST);
  });

  it('that raises the window past the catalog goes nowhere: what is billed is held', async () => {
    upstream.answerWith(answering({ input_tokens: WINDOW }));
    const caller = await openAccount(gateway, { credits: 1_000_000n });
    const big = asking('opal-medium', { max_tokens: 1, messages: [{ role: 'user', content: 'x'.repeat(900_000) }] });
    expect((await post(caller, '/v1/messages', big, { 'anthropic-beta': LONG })).status).toBe(200);
    expect(upstream.requests.at(-1)?.headers).not.toHaveProperty('anthropic-beta');
    const { usages, debits } = await usageOf(caller.accountId);
    expect([usages[0]?.hold, debits[0]?.amount]).toEqual([600_015n, 600_015n]);
  });

  it('with a window and a price of its own is held and billed by them, and usage names their card', async () => {
    upstream.answerWith(answering({ input_tokens: 900_000 }));
    const big = asking('opal-long', { max_tokens: 1, messages: [{ role: 'user', content: 'x'.repeat(900_000) }] });
    const poor = await openAccount(gateway, { credits: 5_000_000n });
    upstream.answerWith(answering({ input_tokens: 900_000 }, 900_000));
    refusalOf(await post(poor, '/v1/messages', big, { 'anthropic-beta': LONG }), 402);
    const caller = await openAccount(gateway, { credits: 6_000_000n });
    expect((await post(caller, '/v1/messages', big, { 'anthropic-beta': LONG })).status).toBe(200);
    expect(upstream.requests.at(-1)?.headers['anthropic-beta']).toBe(LONG);
    const { usages, debits } = await usageOf(caller.accountId);
    expect(usages[0]?.rateCard).toMatchObject({ id: `opal-long+${LONG}`, version: 1 });
    expect(debits[0]).toMatchObject({
      amount: 5_400_023n - 1n,
      leftOut: 0n,
      lines: [{ rate: 6_000_000n }, { rate: 22_500_000n }],
    });
    expect(usages[0]?.hold).toBeGreaterThanOrEqual(5_400_022n);
  });

  it('has no price for two betas that each have one', async () => {
    const headers = { 'anthropic-beta': `${LONG},other-price-2026-01-01` };
    const answered = await post(gateway, '/v1/messages', asking('opal-long'), headers);
    expect(refusalOf(answered, 400)).toMatch(/^anthropic-beta: .* and there is none for both$/);
  });

  it('is refused by configuration where it is not known', async () => {
    const strict = await startTestGateway({ upstreamUrl: upstream.url, settings: { unknownBetas: 'refuse' } });
    const sent = upstream.requests.length;
    for (const path of ['/v1/messages', COUNT]) {
      const answered = await post(strict, path, asking('opal-medium'), { 'anthropic-beta': `pdfs-2024-09-25,${LONG}` });
      expect(refusalOf(answered, 400)).toBe(`anthropic-beta: "${LONG}" is not a beta of model opal-medium`);
    }
    expect(paths(sent)).toEqual([]);
    await strict.stop();
  });
});

it('GET /pricing gives prices a use, and what betas change, from the cards that are billed by; nothing where there is none', async () => {
  const { models } = pricingSchema.parse((await get(gateway, '/pricing')).body);
  const of = (id: string) => models.find((one) => one.id === id);
  expect(of('opal-search')).toMatchObject({ usd_per_use: { web_search_requests: '0.01' } });
  expect(of('opal-long')?.betas?.map(({ name, context_window, usd }) => [name, context_window, usd.input])).toEqual([
    [LONG, 1_000_000, '6.00'],
    [OWN, 300_000, '3.00'],
    ['other-price-2026-01-01', WINDOW, '3.00'],
  ]);
  expect(Object.keys(of('opal-medium') ?? {})).not.toContain('betas');
  expect(Object.keys(of('opal-medium') ?? {})).not.toContain('usd_per_use');
});

it('the metrics count priority that nobody asked for, and no other', async () => {
  const metrics = { serve: { host: '127.0.0.1', port: 0 } };
  const measured = await startTestGateway({ upstreamUrl: upstream.url, settings: { metrics } });
  upstream.answerWith(answering({ input_tokens: 1, service_tier: 'priority' }));
  for (const [model, speed] of [
    ['opal-fast', 'standard'],
    ['opal-fast', 'fast'],
    ['opal-medium', 'fast'],
  ])
    expect((await post(measured, '/v1/messages', asking(model ?? '', { speed }))).status).toBe(200);
  const { text } = await call(measured.gateway.metricsUrl ?? '', '/metrics');
  expect(text).toMatch(/^gateway_priority_unasked_total 2$/m);
  await measured.stop();
});
