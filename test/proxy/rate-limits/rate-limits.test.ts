import { request as httpRequest, type IncomingMessage } from 'node:http';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { type Answered, asking, type Callable, call, get, post, refusalOf } from '../../fixtures/gateway/call.ts';
import { type FurtherAccount, openAccount } from '../../fixtures/gateway/open-account.ts';
import { postMessage, startPost } from '../../fixtures/gateway/post-message.ts';
import type { TestGateway } from '../../fixtures/gateway/start-gateway.ts';
import { startOnUpstream } from '../../fixtures/gateway/start-on-upstream.ts';
import { failure, json, silence, wait } from '../../upstream/answer.ts';
import { defaultAnswer } from '../../upstream/default-answer.ts';
import { message } from '../../upstream/message.ts';

/** What callers see of their limits, over HTTP, by a clock that the test moves. */
const MESSAGES = '/v1/messages';
const COUNT = '/v1/messages/count_tokens';
const LIMITS = {
  paid: {
    requestsPerMinute: 20,
    inputTokensPerMinute: 10_000,
    outputTokensPerMinute: 1_000,
    concurrentRequests: 5,
    concurrentStreams: 3,
    concurrentCounts: 2,
  },
  unpaid: { requestsPerMinute: 4, concurrentRequests: 2 },
  plans: { team: { requestsPerMinute: 6 } },
  keyPercent: 50,
};

const clock = { nowMs: Date.parse('2026-11-22T12:00:00.250Z') };
const { upstream, gateway } = await startOnUpstream(afterAll, {
  // Who has left has nothing under way any more.
  provider: { onClientDisconnect: 'cancel' },
  clock: () => clock.nowMs,
  settings: { rateLimits: LIMITS, metrics: { serve: { port: 0 } }, browserOrigins: ['*'] },
});
beforeEach(() => upstream.answerWith(defaultAnswer));

const opened = (credits: bigint) => openAccount(gateway, { credits, nowMs: clock.nowMs });
const paying = () => opened(1_000_000_000n);
const mock = (caller: Callable, more: object = {}) => post(caller, MESSAGES, asking('svc-mock', more));
const limitedBy = (answered: Answered): [string, string | string[] | undefined] => {
  const said = refusalOf(answered, 429);
  expect(answered.headers['x-should-retry']).toBe('true');
  return [said, answered.headers['retry-after']];
};
const told = ({ headers }: Pick<Answered, 'headers'>, name: string) =>
  ['limit', 'remaining', 'reset'].map((field) => headers[`anthropic-ratelimit-${name}-${field}`]);

async function statuses(count: number, ask: () => Promise<Answered>): Promise<number[]> {
  const all: number[] = [];
  for (let index = 0; index < count; index++) all.push((await ask()).status);
  return all;
}

/** A message of which no byte of the body comes. */
function headOnly({ url, key }: Callable) {
  const headers = { 'x-api-key': key, 'content-length': '100' };
  const request = httpRequest(`${url}${MESSAGES}`, { method: 'POST', agent: false, headers });
  request.flushHeaders();
  request.on('error', () => undefined);
  const answered = new Promise<IncomingMessage>((resolve) => request.once('response', resolve));
  return { answered, leave: () => request.destroy() };
}

async function underWay(): Promise<Record<string, number>> {
  const { text } = await call(gateway.gateway.metricsUrl ?? '', '/metrics');
  const found = text.matchAll(/^gateway_calls_under_way\{kind="(\w+)"\} (\d+)$/gm);
  return Object.fromEntries([...found].map(([, kind, count]) => [kind, Number(count)]));
}

describe('requests a minute', () => {
  it('are refused with 429 past the limit of the key, until just when it says', async () => {
    const caller = await paying();
    expect(await statuses(10, () => mock(caller))).toEqual(Array(10).fill(200));
    const words = "the key's limit of 10 requests a minute is reached: try again in 6 seconds";
    expect(limitedBy(await mock(caller))).toEqual([words, '6']);
    // What was refused has taken nothing.
    expect(await statuses(5, () => mock(caller))).toEqual(Array(5).fill(429));
    clock.nowMs += 5_999;
    expect(limitedBy(await mock(caller))[1]).toBe('1');
    clock.nowMs += 1;
    expect(await statuses(2, () => mock(caller))).toEqual([200, 429]);
  });

  it('are shared by the keys of an account', async () => {
    const caller = await paying();
    const keys = [caller, { ...caller, ...(await gateway.issueKey({}, caller.accountId)) }];
    for (const key of keys) expect(await statuses(10, () => mock(key))).toEqual(Array(10).fill(200));
    const third = { ...caller, ...(await gateway.issueKey({}, caller.accountId)) };
    const words = "the account's limit of 20 requests a minute is reached: try again in 3 seconds";
    expect(limitedBy(await mock(third))).toEqual([words, '3']);
    expect((await mock(await paying())).status).toBe(200);
  });

  it('count free models, priced ones and counts of tokens alike', async () => {
    const caller = await paying();
    const asks = [
      () => mock(caller),
      () => post(caller, MESSAGES, asking('opal-medium')),
      () => post(caller, COUNT, asking('opal-medium')),
      () => post(caller, '/messages/count_tokens', asking('svc-mock')),
      () => post(caller, '/messages', asking('svc-mock', { stream: true })),
    ];
    for (const ask of asks) expect(await statuses(2, ask)).toEqual([200, 200]);
    for (const ask of asks) limitedBy(await ask());
  });

  it('are taken by what is refused, for whatever reason, and tokens are not', async () => {
    const caller = await paying();
    const bodies = ['', '{', {}, asking('opal-none'), asking('opal-gone')];
    const refused = [];
    for (const path of [MESSAGES, COUNT]) for (const body of bodies) refused.push(await post(caller, path, body));
    expect(refused.map(({ status }) => status)).toEqual([400, 400, 400, 404, 410, 400, 400, 400, 404, 410]);
    expect(refused.map((answered) => told(answered, 'requests')[1])).toEqual([...'9876543210']);
    for (const answered of refused) expect(told(answered, 'tokens').slice(0, 2)).toEqual(['500', '500']);
    limitedBy(await post(caller, MESSAGES, '{'));
    limitedBy(await post(caller, COUNT, '{'));
    const poor = await opened(1n);
    expect(await statuses(12, () => post(poor, MESSAGES, asking('opal-medium')))).toEqual([
      ...Array(10).fill(402),
      ...Array(2).fill(429),
    ]);
    expect(told(await get(poor, '/me'), 'requests')).toEqual([undefined, undefined, undefined]);
  });

  it('are taken before anything of a body is read', async () => {
    const caller = await paying();
    await statuses(9, () => mock(caller));
    const [last, tooMany] = [headOnly(caller), headOnly(caller)];
    try {
      await expect.poll(async () => (await underWay()).message).toBe(1);
      const { statusCode, headers } = await tooMany.answered;
      expect([statusCode, headers['retry-after']]).toEqual([429, '6']);
    } finally {
      for (const { leave } of [last, tooMany]) leave();
    }
    await expect.poll(underWay).toEqual({ message: 0, stream: 0, count: 0 });
  });

  it('are taken by what is refused for its tokens: it says when there is a request for it, too', async () => {
    const caller = await paying();
    upstream.answerWith(json(message({ tokens: { input: 4_700, output: 1 } })));
    expect((await post(caller, MESSAGES, asking('opal-medium'))).status).toBe(200);
    await statuses(8, () => mock(caller));
    const words = "the key's limit of 5000 input tokens a minute is reached: try again in 6 seconds";
    const asked = { messages: [{ role: 'user', content: 'x'.repeat(1_300) }] };
    expect(limitedBy(await mock(caller, asked))).toEqual([words, '6']);
    limitedBy(await mock(caller));
    clock.nowMs += 6_000;
    expect((await mock(caller, asked)).status).toBe(200);
  });

  it('are few for an account that has never paid, and more from its first purchase on', async () => {
    const unpaid = await opened(0n);
    expect(await statuses(3, () => mock(unpaid))).toEqual([200, 200, 429]);
    const grant = { grantId: 'gift', source: 'promotion' };
    await gateway.command({ ...GRANT, ...grant } as Parameters<TestGateway['command']>[0], unpaid.accountId);
    limitedBy(await mock(unpaid));
    const bought = { grantId: 'bought', source: 'purchase' };
    await gateway.command({ ...GRANT, ...bought } as Parameters<TestGateway['command']>[0], unpaid.accountId);
    expect(told(await mock(unpaid), 'requests').slice(0, 2)).toEqual(['10', '7']);
  });
});

const GRANT = {
  type: 'GrantCredits',
  amount: 1_000_000n,
  costBasis: 0n,
  priority: 1,
  effectiveAtMs: 0,
  expiresAtMs: null,
};

describe('tokens a minute', () => {
  it('of input are guessed when a request comes, and what was metered counts when it has ended', async () => {
    const caller = await paying();
    const gate = Promise.withResolvers<void>();
    upstream.answerWith([wait(gate.promise), ...json(message({ tokens: { input: 1_000, cacheRead: 90_000 } }))]);
    const asked = { messages: [{ role: 'user', content: 'x'.repeat(20_000) }] };
    const first = startPost(caller, { body: asked }).answered;
    await expect.poll(async () => (await underWay()).message).toBe(1);
    // Some 4,000 of the key's 5,000 a minute: another one does not fit, a small one does.
    const [words, after] = limitedBy(await post(caller, MESSAGES, { ...asking('opal-medium'), ...asked }));
    expect(words).toMatch(/^the key's limit of 5000 input tokens a minute is reached: try again in \d+ seconds$/);
    expect(Number(after)).toBeGreaterThan(30);
    upstream.answerWith(defaultAnswer);
    expect((await post(caller, MESSAGES, asking('opal-medium'))).status).toBe(200);
    gate.resolve();
    await (await first).rest();
    const left = told(await mock(caller), 'input-tokens');
    expect(left[0]).toBe('5000');
    // What was read from a cache is no input that counts: 1,000, and 25 of the second.
    expect(Number(left[1])).toBeGreaterThan(3_900);
    expect(Number(left[1])).toBeLessThan(3_976);
  });

  it('of output are taken when they have come, also beyond the limit: then it is waited for', async () => {
    const caller = await paying();
    upstream.answerWith(json(message({ tokens: { input: 10, output: 750 } })));
    expect((await post(caller, MESSAGES, asking('opal-medium', { max_tokens: 1_000 }))).status).toBe(200);
    // 250 beyond the key's 500 a minute are half a minute and, for one more, 120 ms.
    const words = "the key's limit of 500 output tokens a minute is reached: try again in 31 seconds";
    expect(limitedBy(await post(caller, MESSAGES, asking('opal-medium')))).toEqual([words, '31']);
    expect((await post(caller, COUNT, asking('opal-medium'))).status).toBe(200);
    clock.nowMs += 30_120;
    expect((await post(caller, MESSAGES, asking('opal-medium'))).status).toBe(200);
  });

  it('are taken at most as asked for, whatever an upstream reports that cannot be', async () => {
    const caller = await paying();
    upstream.answerWith(json(message({ tokens: { input: 10, output: 1e15 } })));
    const answered = await post(caller, MESSAGES, asking('opal-medium', { max_tokens: 100 }));
    expect(answered.status).toBe(200);
    await gateway.events(caller.accountId);
    expect(told(await mock(caller, { max_tokens: 1 }), 'output-tokens').slice(0, 2)).toEqual(['500', '399']);
  });

  it('are given back where an upstream refuses', async () => {
    const caller = await paying();
    upstream.answerWith(failure(400));
    const asked = { messages: [{ role: 'user', content: 'x'.repeat(20_000) }] };
    const answered = await post(caller, MESSAGES, { ...asking('opal-medium'), ...asked });
    expect(told(answered, 'input-tokens').slice(0, 2)).toEqual(['5000', '5000']);
  });
});

describe('calls under way at once', () => {
  it.each([
    ['streams', { stream: true }, 1],
    ['requests', {}, 2],
  ] as const)('have a limit: %s', async (name, more, limit) => {
    const caller = await paying();
    upstream.answerWith([silence]);
    const posts = Array.from({ length: limit }, () => startPost(caller, more));
    for (const { answered } of posts) answered.catch(() => undefined);
    const kind = name === 'streams' ? 'stream' : 'message';
    await expect.poll(async () => (await underWay())[kind]).toBe(limit);
    const words = `the key's limit of ${limit} ${name} at once is reached: there is room when one of them has ended; try again in 1 second`;
    expect(limitedBy(await post(caller, MESSAGES, asking('opal-medium', more)))).toEqual([words, '1']);
    // Another's are not touched, nor are counts.
    upstream.answerWith(defaultAnswer);
    expect((await post(await paying(), MESSAGES, asking('opal-medium', more))).status).toBe(200);
    expect((await post(caller, COUNT, asking('opal-medium'))).status).toBe(200);
    for (const { leave } of posts) leave();
    await expect.poll(underWay).toEqual({ message: 0, stream: 0, count: 0 });
  });

  it('have a limit of their own for counts', async () => {
    const caller = await paying();
    const gate = Promise.withResolvers<void>();
    upstream.answerWith([wait(gate.promise), ...json({ input_tokens: 7 })]);
    const first = post(caller, COUNT, asking('opal-medium'));
    await expect.poll(async () => (await underWay()).count).toBe(1);
    const [words] = limitedBy(await post(caller, COUNT, asking('opal-medium')));
    expect(words).toMatch(/^the key's limit of 1 counts of tokens at once is reached/);
    expect((await mock(caller)).status).toBe(200);
    gate.resolve();
    expect((await first).body).toEqual({ input_tokens: 7 });
    upstream.answerWith(defaultAnswer);
    expect((await post(caller, COUNT, asking('opal-medium'))).status).toBe(200);
  });

  it('have it from their head on, before their body has come, until they have left', async () => {
    const caller = await paying();
    const heads = [headOnly(caller), headOnly(caller)];
    await expect.poll(async () => (await underWay()).message).toBe(2);
    expect(limitedBy(await mock(caller))[0]).toMatch(/^the key's limit of 2 requests at once is reached/);
    for (const { leave } of heads) leave();
    await expect.poll(underWay).toEqual({ message: 0, stream: 0, count: 0 });
    expect((await mock(caller)).status).toBe(200);
  });
});

describe('a message whose input is counted to see whether it fits', () => {
  /** By its bytes it could be 8,000 tokens, by a guess it is 1,200: between lies what it has. */
  const ASKED = { max_tokens: 1, messages: [{ role: 'user', content: 'x'.repeat(6_000) }] };
  const ask = (caller: Callable) => post(caller, MESSAGES, asking('opal-medium', ASKED));
  const isCount = ({ path }: { readonly path: string }): boolean => path === COUNT;

  it('is bounded by requests a minute, though it is refused: a count is a call of the provider', async () => {
    const poor = await opened(10_000n);
    upstream.answerWith(json({ input_tokens: 5_000 }));
    const before = upstream.requests.length;
    const refused = await statuses(13, () => ask(poor));
    expect(refused).toEqual([...Array(10).fill(402), ...Array(3).fill(429)]);
    const seen = upstream.requests.slice(before);
    expect(seen.every(isCount)).toBe(true);
    expect(seen).toHaveLength(10);
  });

  it('takes one of the counts at once', async () => {
    const poor = await opened(10_000n);
    const gate = Promise.withResolvers<void>();
    upstream.answerWith([wait(gate.promise), ...json({ input_tokens: 5_000 })]);
    const first = ask(poor);
    await expect.poll(underWay).toEqual({ message: 1, stream: 0, count: 1 });
    for (const answered of [await ask(poor), await post(poor, COUNT, asking('opal-medium'))])
      expect(limitedBy(answered)[0]).toMatch(/^the key's limit of 1 counts of tokens at once is reached/);
    gate.resolve();
    refusalOf(await first, 402);
    expect(await underWay()).toEqual({ message: 0, stream: 0, count: 0 });
  });
});

describe('what is left of the limits', () => {
  const NAMES = ['requests', 'tokens', 'input-tokens', 'output-tokens'];
  const INSTANT = /^2026-11-22T12:\d\d:\d\dZ$/;
  const expectAll = (answered: Pick<Answered, 'headers'>): void => {
    for (const name of NAMES)
      expect(told(answered, name)).toEqual([
        expect.stringMatching(/^\d+$/),
        expect.stringMatching(/^\d+$/),
        expect.stringMatching(INSTANT),
      ]);
  };
  let caller: FurtherAccount;
  beforeEach(async () => {
    caller = await paying();
  });

  it.each([
    ['an answer', 200, () => post(caller, MESSAGES, asking('opal-medium'))],
    ['a count', 200, () => post(caller, COUNT, asking('opal-medium'))],
    ['a body that is none', 400, () => post(caller, MESSAGES, '{')],
    ['a count of nothing', 400, () => post(caller, COUNT, {})],
    ['an unknown model', 404, () => post(caller, MESSAGES, asking('opal-none'))],
    ['a retired model', 410, () => post(caller, MESSAGES, asking('opal-gone'))],
  ] as const)('stands in the head of %s', async (_title, status, ask) => {
    const answered = await ask();
    expect(answered.status).toBe(status);
    expectAll(answered);
  });

  it('stands in the head of a stream, of what an upstream refuses, of a 402 and of a 429', async () => {
    expectAll(await postMessage(caller, { stream: true }));
    upstream.answerWith(failure(400));
    expectAll(await postMessage(caller, { stream: true }));
    upstream.answerWith(failure(529));
    expectAll(await postMessage(caller));
    const poor = await opened(1n);
    const refused = await post(poor, MESSAGES, asking('opal-medium'));
    expect(refused.status).toBe(402);
    expectAll(refused);
    await statuses(12, () => mock(caller));
    const limited = await mock(caller);
    expect(limited.status).toBe(429);
    expectAll(limited);
    expect(told(limited, 'requests').slice(0, 2)).toEqual(['10', '0']);
  });

  it('stands in no answer to somebody unknown, nor in those of other routes', async () => {
    const unknown = await mock({ ...gateway, key: 'sk-svc-nobody' });
    const me = await get(caller, '/me');
    for (const { headers } of [unknown, me]) expect(Object.keys(headers).join()).not.toContain('ratelimit');
  });

  it('is that of the account where that has less left than the key', async () => {
    const other = { ...caller, ...(await gateway.issueKey({}, caller.accountId)) };
    const third = { ...caller, ...(await gateway.issueKey({}, caller.accountId)) };
    await statuses(8, () => mock(other));
    await statuses(8, () => mock(third));
    // 4 of the account's 20 are left before this, 10 of the key's 10.
    expect(told(await mock(caller), 'requests').slice(0, 2)).toEqual(['20', '3']);
  });

  it('says when all of it is there again, in whole seconds, rounded up', async () => {
    const resetOf = (answered: Answered) => Date.parse(String(told(answered, 'requests')[2]));
    const nowMs = clock.nowMs;
    expect(resetOf(await mock(caller))).toBe(Math.ceil((nowMs + 6_000) / 1_000) * 1_000);
    expect(resetOf(await mock(caller))).toBe(Math.ceil((nowMs + 12_000) / 1_000) * 1_000);
  });

  it('is shown to pages that may call', async () => {
    const headers = { origin: 'https://app.example', 'anthropic-dangerous-direct-browser-access': 'true' };
    const answered = await post(caller, MESSAGES, asking('svc-mock'), headers);
    const exposed = String(answered.headers['access-control-expose-headers']).split(/, */);
    for (const name of NAMES)
      for (const field of ['limit', 'remaining', 'reset'])
        expect(exposed).toContain(`anthropic-ratelimit-${name}-${field}`);
  });
});

it('counts what it refuses, by whose limit and which', async () => {
  const { text } = await call(gateway.gateway.metricsUrl ?? '', '/metrics');
  for (const labels of ['whose="key",limit="requestsPerMinute"', 'whose="account",limit="requestsPerMinute"'])
    expect(text).toMatch(new RegExp(`^gateway_rate_limited_total\\{${labels}\\} [1-9]\\d*$`, 'm'));
});
