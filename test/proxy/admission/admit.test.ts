import { afterAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { LIMITS } from '../../../contracts/limits.ts';
import { asking, type Callable, get, post, refusalOf } from '../../fixtures/gateway/call.ts';
import { openAccount } from '../../fixtures/gateway/open-account.ts';
import { startOnUpstream } from '../../fixtures/gateway/start-on-upstream.ts';
import { countTokens, failure, reset } from '../../upstream/answer.ts';
import { defaultAnswer } from '../../upstream/default-answer.ts';
import type { SeenRequest } from '../../upstream/seen-request.ts';
import type { Script } from '../../upstream/upstream.ts';

const { upstream, gateway } = await startOnUpstream(afterAll);
beforeEach(() => upstream.answerWith(defaultAnswer));

const COUNT = '/v1/messages/count_tokens';
const isCount = ({ path }: SeenRequest) => path === COUNT;
const countingWith =
  (count: Script): Script =>
  (request) =>
    isCount(request) ? (typeof count === 'function' ? count(request) : count) : defaultAnswer(request);

describe('an allow-list', () => {
  it('lets its models through and no other', async () => {
    const key = await gateway.issueKey({ models: ['opal-medium', 'opal-gone'] });
    const caller = { ...gateway, ...key };
    expect((await post(caller, '/v1/messages', asking('opal-medium'))).status).toBe(200);
    for (const model of ['opal-fast', 'svc-mock'])
      for (const path of ['/v1/messages', COUNT])
        expect(refusalOf(await post(caller, path, asking(model)), 403)).toBe(`model: the key may not call ${model}`);
    refusalOf(await post(caller, '/v1/messages', asking('opal-gone')), 410);
    refusalOf(await post(caller, '/v1/messages', asking('opal-none')), 404);
  });

  it('of nothing lets nothing through', async () => {
    const key = await gateway.issueKey({ models: [] });
    refusalOf(await post({ ...gateway, ...key }, '/v1/messages', asking('opal-medium')), 403);
  });
});

it('a suspended account may not call models, and may again once it is reinstated', async () => {
  const caller = await openAccount(gateway, { credits: 1_000_000n });
  await gateway.command({ type: 'SuspendAccount', reason: 'chargeback at the bank' }, caller.accountId);
  for (const path of ['/v1/messages', COUNT]) {
    const message = refusalOf(await post(caller, path, asking('opal-medium')), 403);
    expect(message).toBe('the account is suspended');
  }
  refusalOf(await post(caller, '/v1/messages', asking('svc-mock')), 403);
  expect((await get(caller, '/me')).status).toBe(200);
  expect((await post(gateway, '/v1/messages', asking('opal-medium'))).status).toBe(200);
  await gateway.command({ type: 'ReinstateAccount', reason: 'settled' }, caller.accountId);
  expect((await post(caller, '/v1/messages', asking('opal-medium'))).status).toBe(200);
});

it('the order of the gates is key, body, model, account and allow-list, money', async () => {
  const caller = await openAccount(gateway, { models: ['opal-medium'] });
  const wrong = { ...asking('opal-none'), max_tokens: 0 };
  refusalOf(await post({ ...caller, key: 'sk-svc-wrong' }, '/v1/messages', wrong), 401);
  refusalOf(await post(caller, '/v1/messages', wrong), 400);
  refusalOf(await post(caller, '/v1/messages', asking('opal-none')), 404);
  refusalOf(await post(caller, '/v1/messages', asking('opal-fast')), 403);
  refusalOf(await post(caller, '/v1/messages', asking('opal-medium')), 402);
});

describe('a request too long to be read where others wait', () => {
  const long = (more: object = {}) =>
    asking('opal-medium', { messages: [{ role: 'user', content: 'word '.repeat(20_000) }], max_tokens: 100, ...more });

  it('is refused and admitted as a short one is', async () => {
    const broke = await openAccount(gateway);
    expect(refusalOf(await post(broke, '/v1/messages', long()), 402)).toMatch(
      /^the balance does not cover this request: it could cost 0\.3\d+ USD with max_tokens 100, 0\.00 USD/,
    );
    const limited = await openAccount(gateway, { credits: 1_000_000n, monthlyLimit: 0n });
    expect(refusalOf(await post(limited, '/v1/messages', long()), 402)).toMatch(/^the key's monthly limit/);
    expect(refusalOf(await post(gateway, '/v1/messages', long({ max_tokens: 0 })), 400)).toBe(
      'max_tokens: must be at least 1',
    );
    expect((await post(broke, '/v1/messages', long({ model: 'svc-mock' }))).status).toBe(200);
    const funded = await openAccount(gateway, { credits: 1_000_000n });
    const sent = upstream.requests.length;
    expect((await post(funded, '/v1/messages', long())).status).toBe(200);
    expect(upstream.requests.slice(sent).map(({ body }) => body.toString())).toEqual([JSON.stringify(long())]);
    expect((await post(funded, COUNT, long())).status).toBe(200);
  });

  it('goes upstream with what must differ there, and nothing else', async () => {
    const sent = upstream.requests.length;
    const body = `{ "speed" : "fast" ,${JSON.stringify(long({ model: 'opal-renamed' })).slice(1)}`;
    expect((await post(gateway, '/v1/messages', body)).status).toBe(200);
    const [seen] = upstream.requests.slice(sent);
    expect(seen?.body.toString()).toBe(body.replace('"speed" : "fast" ,', '').replace('opal-renamed', 'name-upstream'));
    expect(seen?.headers['content-length']).toBe(String(seen?.body.length));
  });
});

it('a message thread is refused with the code that SDKs go on from, where the upstream keeps none', async () => {
  const answered = await post(gateway, '/v1/messages', asking('svc-mock', { thread: { type: 'create' } }));
  expect(refusalOf(answered, 400)).toMatch(/^thread: model svc-mock does not keep message threads/);
  expect(answered.body).toMatchObject({ error: { details: { error_code: 'thread_unsupported_request' } } });
});

/** A text of 4,000 bytes: by its bytes it could be 6,000 tokens and more, 18,000 micro-USD; a count says what it is. */
describe('where the size alone does not fit', () => {
  const body = asking('opal-medium', { max_tokens: 100, messages: [{ role: 'user', content: 'word '.repeat(800) }] });
  const OUTPUT = 100 * 15;
  /** A count of 900 with its margin: a tenth more, and 64. */
  const COUNTED = (990 + 64) * 3;
  const poor = (credits: number) => openAccount(gateway, { credits: BigInt(credits) });
  const paths = (from: number) => upstream.requests.slice(from).map(({ path }) => path);
  const send = (caller: Callable) => post(caller, '/v1/messages', body);

  it('the count decides: what fits by it and its margin passes, without a micro-USD to spare', async () => {
    upstream.answerWith(countingWith(countTokens(900)));
    const sent = upstream.requests.length;
    expect((await send(await poor(COUNTED + OUTPUT))).status).toBe(200);
    expect(paths(sent)).toEqual([COUNT, '/v1/messages']);
  });

  it('the count decides: what does not fit by it is a 402 with the figures of the count', async () => {
    upstream.answerWith(countingWith(countTokens(901)));
    const sent = upstream.requests.length;
    const caller = await poor(COUNTED + OUTPUT);
    const message = refusalOf(await send(caller), 402);
    expect(message).toContain('it could cost 0.004668 USD with max_tokens 100, 0.004662 USD is left');
    expect(message).toContain('the largest max_tokens that would pass is 99');
    expect(paths(sent)).toEqual([COUNT]);
    expect((await get(caller, '/me')).body).toMatchObject({ held_credits: 0 });
  });

  it('the count is asked for without the fields that it does not take', async () => {
    const sent = upstream.requests.length;
    const caller = await poor(8_000);
    const full = { ...body, temperature: 1, stop_sequences: [], speed: null, metadata: {}, stream: false, top_k: 5 };
    expect((await post(caller, '/v1/messages', full)).status).toBe(200);
    const [counted] = upstream.requests.slice(sent);
    const { max_tokens: _max, ...counting } = body;
    expect(JSON.parse(counted?.body.toString() ?? '')).toEqual(counting);
  });

  it('nothing is counted where the size fits, nor where even the likely size does not', async () => {
    const sent = upstream.requests.length;
    expect((await send(await poor(1_000_000))).status).toBe(200);
    refusalOf(await send(await poor(OUTPUT + 10)), 402);
    expect(paths(sent)).toEqual(['/v1/messages']);
  });

  it.each([
    ['says 400', failure(400)],
    ['says 401', failure(401)],
    ['says 529', failure(529)],
    ['resets', [reset]],
    ['says something else', failure(200, { tokens: 1 })],
    ['says a negative count', countTokens(-1)],
    ['says half a token', countTokens(1.5)],
  ] as const)('it is a 402 by the size when the upstream %s', async (_title, answer) => {
    upstream.answerWith(countingWith(answer));
    const sent = upstream.requests.length;
    const caller = await poor(8_000);
    expect(refusalOf(await send(caller), 402)).toContain('no max_tokens would pass for this input');
    expect(paths(sent).filter((path) => path !== COUNT)).toEqual([]);
    expect((await get(caller, '/me')).body).toMatchObject({ held_credits: 0 });
  });

  it('two counted at once do not both pass where one fits', async () => {
    const both = Promise.withResolvers<void>();
    let counts = 0;
    upstream.answerWith(
      countingWith(async () => {
        if (++counts === 2) both.resolve();
        await both.promise;
        return countTokens(900);
      }),
    );
    const caller = await poor(1.5 * (COUNTED + OUTPUT));
    const answers = await Promise.all([send(caller), send(caller)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 402]);
  });

  it('a client that leaves while its input is counted holds and sends nothing', async () => {
    const counting = Promise.withResolvers<void>();
    upstream.answerWith(
      countingWith(async () => {
        await counting.promise;
        return countTokens(900);
      }),
    );
    const sent = upstream.requests.length;
    const caller = await poor(COUNTED + OUTPUT);
    const leaving = new AbortController();
    const answered = fetch(`${gateway.url}/v1/messages`, {
      method: 'POST',
      headers: { 'x-api-key': caller.key },
      body: JSON.stringify(body),
      signal: leaving.signal,
    });
    const counted = await upstream.seen(sent);
    leaving.abort();
    await expect(answered).rejects.toThrow('aborted');
    await get(caller, '/me');
    counting.resolve();
    await counted.over;
    expect((await send(caller)).status).toBe(200);
    expect(paths(sent).filter((path) => path !== COUNT)).toHaveLength(1);
  });
});

it('a request starts at the time that its id says, however long it waits, or not at all', async () => {
  // Its size alone does not fit, so its provider counts it.
  const body = asking('opal-medium', { max_tokens: 100, messages: [{ role: 'user', content: 'word '.repeat(800) }] });
  const time = { ms: Date.now(), byMs: 0 };
  const { upstream, gateway } = await startOnUpstream(onTestFinished, { clock: () => time.ms });
  upstream.answerWith((request) => {
    if (!isCount(request)) return defaultAnswer(request);
    time.ms += time.byMs;
    return countTokens(900);
  });
  const caller = await openAccount(gateway, { credits: 8_000n, nowMs: time.ms });
  const answerAfter = (byMs: number) => {
    time.byMs = byMs;
    return post(caller, '/v1/messages', body);
  };
  for (const byMs of [2 * LIMITS.requestStartMs, -LIMITS.requestStartMs - 1, LIMITS.requestStartMs + 1])
    expect(refusalOf(await answerAfter(byMs), 529)).toBe('the clock was set while the request came: send it again');
  expect((await answerAfter(LIMITS.requestStartMs)).status).toBe(200);
});
