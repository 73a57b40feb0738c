import { afterAll, describe, expect, it } from 'vitest';
import { grantId } from '../../../contracts/ids.ts';
import { microUsd } from '../../../contracts/money.ts';
import { asking, type Callable, get, post, refusalOf } from '../../fixtures/gateway/call.ts';
import { type FurtherAccount, openAccount } from '../../fixtures/gateway/open-account.ts';
import { startOnUpstream } from '../../fixtures/gateway/start-on-upstream.ts';
import { head, json, wait, write } from '../../upstream/answer.ts';
import { defaultAnswer } from '../../upstream/default-answer.ts';
import { message } from '../../upstream/message.ts';

/** An upstream that does not count, so that the bound by size alone decides. opal-medium: 3 and 15 micro-USD a token. */
const NOW = Date.parse('2026-05-31T23:59:59.000Z');
const TRIAL_MS = 30 * 24 * 60 * 60 * 1_000;
let nowMs = NOW;
const provider = { countTokens: false };
const { upstream, gateway } = await startOnUpstream(afterAll, { provider, clock: () => nowMs, creditsMicroUsd: 0n });

const send = (caller: Callable, maxTokens: number, more: object = {}) =>
  post(caller, '/v1/messages', asking('opal-medium', { max_tokens: maxTokens, ...more }));
const bytesOf = (maxTokens: number) => JSON.stringify(asking('opal-medium', { max_tokens: maxTokens })).length;
/** What a request can cost, in micro-USD: its bytes and the frame as input, max_tokens as output. */
const costOf = (maxTokens: number) => 3 * (bytesOf(maxTokens) + 2_048) + 15 * maxTokens;
const usd = (microUsd: number) => (microUsd / 1e6).toFixed(6).replace(/0{1,4}$/, '');
const fittingOf = (text: string) => Number(/the largest max_tokens that would pass is (\d+)$/.exec(text)?.[1]);
const account = (options: Parameters<typeof openAccount>[1]) => openAccount(gateway, { nowMs: NOW, ...options });

/** The largest max_tokens that the refusal of 999 names really passes, and one more does not. */
async function expectExactAdvice(refused: string, caller: Callable, left: number): Promise<void> {
  const fitting = fittingOf(refused);
  expect(fitting).toBeGreaterThanOrEqual(100);
  expect(costOf(fitting)).toBeLessThanOrEqual(left);
  expect(fittingOf(refusalOf(await send(caller, fitting + 1), 402))).toBe(fitting);
  expect((await send(caller, fitting)).status).toBe(200);
}

describe('the balance', () => {
  it('refuses what it does not cover, with the figures and with what would pass', async () => {
    const caller = await account({ credits: 20_000n });
    const message = refusalOf(await send(caller, 999), 402);
    expect(message).toBe(
      `the balance does not cover this request: it could cost ${usd(costOf(999))} USD with max_tokens 999, ` +
        `0.02 USD is left; the largest max_tokens that would pass is ${fittingOf(message)}`,
    );
    await expectExactAdvice(message, caller, 20_000);
  });

  it('passes a request that could cost all of it, and not one micro-USD less', async () => {
    expect((await send(await account({ credits: BigInt(costOf(500)) }), 500)).status).toBe(200);
    refusalOf(await send(await account({ credits: BigInt(costOf(500) - 1) }), 500), 402);
  });

  it('says so where no max_tokens would pass', async () => {
    const message = refusalOf(await send(await account({ credits: 100n }), 10), 402);
    expect(message).toContain('0.0001 USD is left; no max_tokens would pass for this input');
    expect(refusalOf(await send(await account({}), 1), 402)).toContain('0.00 USD is left');
  });

  it('is that of the moment: what was granted or debited before counts', async () => {
    const caller = await account({ credits: BigInt(costOf(500)) });
    const debited = 25 * 3 + 12 * 15;
    expect((await send(caller, 500)).status).toBe(200);
    await gateway.gateway.process.settlement.idle();
    expect(refusalOf(await send(caller, 500), 402)).toContain(`${usd(costOf(500) - debited)} USD is left`);
    await caller.grant(BigInt(debited));
    expect((await send(caller, 500)).status).toBe(200);
  });

  it('does not count credits past their expiry, by the clock alone', async () => {
    const caller = await account({});
    await caller.grant(1_000_000n, NOW + 1_000);
    nowMs = NOW + 999;
    expect((await send(caller, 500)).status).toBe(200);
    nowMs = NOW + 1_000;
    expect(refusalOf(await send(caller, 500), 402)).toContain('the balance does not cover this request');
    nowMs = NOW;
  });
});

describe('requests under way', () => {
  it('invariant 10: concurrency: hold what they could cost: of many at once only as many pass as the balance covers', async () => {
    const gate = Promise.withResolvers<void>();
    upstream.answerWith([wait(gate.promise), ...json(message({ model: 'opal-medium' }))]);
    const caller = await account({ credits: BigInt(3 * costOf(500)) });
    const sent = upstream.requests.length;
    const answers = Array.from({ length: 12 }, () => send(caller, 500));
    await upstream.seen(sent + 2);
    const decided: number[] = [];
    const all = Promise.all(answers.map((answer) => answer.then(({ status }) => decided.push(status))));
    await expect.poll(() => decided).toEqual(Array(9).fill(402));
    const refused = refusalOf(await send(caller, 1), 402);
    expect(refused).toContain(`0.00 USD is left (${usd(3 * costOf(500))} USD more is held for requests under way)`);
    const [fitsLater, neverFits] = [await send(caller, 500), await send(caller, 5_000)];
    expect(refusalOf(fitsLater, 402)).toContain('it fits once they have ended for less: try again');
    expect(fitsLater.headers).toMatchObject({ 'x-should-retry': 'true', 'retry-after': '2' });
    expect(refusalOf(neverFits, 402)).not.toContain('try again');
    expect(neverFits.headers).toMatchObject({ 'x-should-retry': 'false' });
    expect((await get(caller, '/me')).body).toMatchObject({ held_credits: 3 * costOf(500) });
    gate.resolve();
    await all;
    expect(decided.sort()).toEqual([...Array(3).fill(200), ...Array(9).fill(402)]);
    expect(upstream.requests.length).toBe(sent + 3);
    await gateway.gateway.process.settlement.idle();
    expect((await get(caller, '/me')).body).toMatchObject({ held_credits: 0 });
    upstream.answerWith(defaultAnswer);
  });

  it('hold until they are settled, also when their upstream breaks off', async () => {
    upstream.answerWith([head(), write('event: message_start\n'), { type: 'reset' }]);
    const credits = costOf(500) + 100;
    const caller = await account({ credits: BigInt(credits) });
    await expect(send(caller, 500, { stream: true })).rejects.toThrow();
    upstream.answerWith(defaultAnswer);
    await gateway.gateway.process.settlement.idle();
    expect((await get(caller, '/me')).body).toMatchObject({ held_credits: 0, available_credits: credits });
    expect((await send(caller, 500, { stream: true })).status).toBe(200);
  });
});

describe('monthly limits', () => {
  const limited = async (limit: bigint): Promise<FurtherAccount> => {
    const caller = await account({ credits: 1_000_000n });
    await gateway.command({ type: 'SetSpendLimit', keyId: null, limit: microUsd(limit), nowMs }, caller.accountId);
    return caller;
  };

  it('of the account refuse what they do not cover, and what would pass passes', async () => {
    const caller = await limited(20_000n);
    const message = refusalOf(await send(caller, 999), 402);
    expect(message).toMatch(/^the account's monthly limit of 0\.02 USD does not cover this request: it could cost /);
    await expectExactAdvice(message, caller, 20_000);
  });

  it('of the key refuse what they do not cover, and bind no other key of the account', async () => {
    const caller = await account({ credits: 1_000_000n, monthlyLimit: 20_000n });
    const other = await gateway.issueKey({}, caller.accountId);
    const message = refusalOf(await send(caller, 999), 402);
    expect(message).toMatch(/^the key's monthly limit of 0\.02 USD does not cover this request: it could cost /);
    expect((await send({ ...caller, ...other }, 999)).status).toBe(200);
    await gateway.gateway.process.settlement.idle();
    await expectExactAdvice(message, caller, 20_000);
  });

  it('are told by the narrowest, with what passes all of them', async () => {
    const caller = await account({ credits: 1_000_000n, monthlyLimit: 10_000n });
    await gateway.command({ type: 'SetSpendLimit', keyId: null, limit: microUsd(15_000n), nowMs }, caller.accountId);
    const message = refusalOf(await send(caller, 999), 402);
    expect(message).toMatch(/^the key's monthly limit of 0\.01 USD does not cover this request: .*, 0\.01 USD is left/);
    const fitting = fittingOf(message);
    expect(costOf(fitting)).toBeLessThanOrEqual(10_000);
    expect((await send(caller, fitting)).status).toBe(200);
  });

  describe('and the balance, where both are in the way, are both told, the narrowest first:', () => {
    const limitAccount = async (caller: FurtherAccount, limit: bigint): Promise<void> =>
      gateway.command({ type: 'SetSpendLimit', keyId: null, limit: microUsd(limit), nowMs }, caller.accountId);
    const said = async (caller: FurtherAccount) => refusalOf(await send(caller, 999), 402);

    it('a limit', async () => {
      expect(await said(await account({ credits: 5_000n, monthlyLimit: 4_000n }))).toMatch(
        /^the key's monthly limit of 0\.004 USD does not cover this request: it could cost .*, 0\.004 USD is left.*; the balance, of which 0\.005 USD is left, does not cover this request either$/,
      );
    });

    it('the balance, with the narrowest of the limits', async () => {
      const caller = await account({ credits: 4_000n, monthlyLimit: 5_000n });
      await limitAccount(caller, 6_000n);
      expect(await said(caller)).toMatch(
        /^the balance does not cover this request: it could cost .*, 0\.004 USD is left.*; the key's monthly limit of 0\.005 USD does not cover this request either$/,
      );
    });

    it('a trial that is used up', async () => {
      const caller = await account({ monthlyLimit: 5_000n, trial: 1_000n });
      const taken = { revocationId: 'trial', grantId: grantId('grant_trial'), cause: 'administration' } as const;
      const why = { amount: microUsd(1_000n), paymentId: null, reason: 'x', actor: 'operator', nowMs } as const;
      await gateway.command({ type: 'RevokeGrant', ...taken, ...why }, caller.accountId);
      expect(await said(caller)).toMatch(
        /^the trial credits are used up: buy credits or choose a plan; it could cost .* 0\.00 USD is left.*; the key's monthly limit of 0\.005 USD does not cover this request either$/,
      );
    });

    it('but none that has room, or will have once others have ended', async () => {
      const gate = Promise.withResolvers<void>();
      upstream.answerWith([wait(gate.promise), ...json(message({ model: 'opal-medium' }))]);
      const caller = await account({ credits: BigInt(2 * costOf(999) - 1), monthlyLimit: 4_000n });
      const other = await gateway.issueKey({}, caller.accountId);
      expect(await said(caller)).toMatch(/^the key's monthly limit .* by its bytes$/);
      const sent = upstream.requests.length;
      const holding = send({ ...caller, ...other }, 999);
      await upstream.seen(sent);
      const beside = await said(caller);
      gate.resolve();
      expect((await holding).status).toBe(200);
      upstream.answerWith(defaultAnswer);
      expect(beside).toMatch(/^the key's monthly limit .* by its bytes$/);
    });
  });

  it('refuse for good what only holds would let wait', async () => {
    const gate = Promise.withResolvers<void>();
    upstream.answerWith([wait(gate.promise), ...json(message({ model: 'opal-medium' }))]);
    const caller = await account({ credits: BigInt(costOf(500)), monthlyLimit: 10_000n });
    const other = await gateway.issueKey({}, caller.accountId);
    const sent = upstream.requests.length;
    const holding = send({ ...caller, ...other }, 500);
    await upstream.seen(sent);
    const refused = await send(caller, 500);
    gate.resolve();
    expect((await holding).status).toBe(200);
    upstream.answerWith(defaultAnswer);
    expect(refusalOf(refused, 402)).not.toContain('try again');
    expect(refused.headers).toMatchObject({ 'x-should-retry': 'false' });
  });

  it('count what was debited in this month (UTC) and start again with the next', async () => {
    const caller = await limited(BigInt(costOf(500)));
    expect((await send(caller, 500)).status).toBe(200);
    await gateway.gateway.process.settlement.idle();
    refusalOf(await send(caller, 500), 402);
    nowMs = NOW + 1_000;
    expect((await send(caller, 500)).status).toBe(200);
    await gateway.gateway.process.settlement.idle();
    expect((await get(caller, '/me')).body).toMatchObject({ month: { month: '2026-06', account: { spent: 255 } } });
    nowMs = NOW;
    refusalOf(await send(caller, 500), 402);
  });

  it('of nothing let nothing pass', async () => {
    expect(refusalOf(await send(await limited(0n), 1), 402)).toContain('no max_tokens would pass');
  });
});

describe('the trial', () => {
  it('ends 30 days after the account was opened, to the millisecond, by the clock alone', async () => {
    const caller = await account({ trial: 5_000_000n });
    nowMs = NOW + TRIAL_MS - 1;
    expect((await send(caller, 500)).status).toBe(200);
    await gateway.gateway.process.settlement.idle();
    nowMs = NOW + TRIAL_MS;
    expect(refusalOf(await send(caller, 500), 402)).toMatch(
      /^the trial credits have expired and no others are left: buy credits or choose a plan; it could cost .* 0\.00 USD is left/,
    );
    await caller.grant(1_000n);
    expect(refusalOf(await send(caller, 500), 402)).toMatch(/^the balance does not cover this request: /);
    await caller.grant(1_000_000n);
    expect((await send(caller, 500)).status).toBe(200);
    nowMs = NOW;
  });

  it('is not what is over where other credits came since, and are over, too', async () => {
    const caller = await account({ trial: 5_000_000n });
    await caller.grant(1_000_000n, NOW + TRIAL_MS);
    nowMs = NOW + TRIAL_MS;
    expect(refusalOf(await send(caller, 500), 402)).toMatch(
      /^the balance does not cover this request: .* 0\.00 USD is/,
    );
    nowMs = NOW;
  });
});

describe('without any credits', () => {
  it.each(['/me', '/v1/models', '/v1/models/opal-medium'])('GET %s answers', async (path) => {
    expect((await get(gateway, path)).status).toBe(200);
  });

  it('count_tokens answers', async () => {
    expect((await post(gateway, '/v1/messages/count_tokens', asking('opal-medium'))).status).toBe(200);
  });

  it.each([false, true])('svc-mock answers and debits nothing (stream: %s)', async (stream) => {
    expect((await post(gateway, '/v1/messages', asking('svc-mock', { stream }))).status).toBe(200);
    const events = await gateway.events();
    expect(events.at(-1)).toMatchObject({ type: 'UsageRecorded', data: { model: 'svc-mock' } });
    expect(events.filter(({ type }) => type === 'CreditsDebited')).toEqual([]);
  });

  it('svc-mock answers under a limit of nothing, too', async () => {
    const caller = await account({ monthlyLimit: 0n });
    expect((await post(caller, '/v1/messages', asking('svc-mock'))).status).toBe(200);
  });

  it('svc-mock answers under a limit that was set below what is already spent', async () => {
    const caller = await account({ credits: 1_000_000n });
    expect((await send(caller, 500)).status).toBe(200);
    await gateway.gateway.process.settlement.idle();
    await gateway.command({ type: 'SetSpendLimit', keyId: null, limit: microUsd(1n), nowMs }, caller.accountId);
    refusalOf(await send(caller, 1), 402);
    expect((await post(caller, '/v1/messages', asking('svc-mock'))).status).toBe(200);
  });

  it('every other model is a 402, and nothing is sent, held or recorded', async () => {
    const sent = upstream.requests.length;
    const caller = await account({});
    for (const model of ['opal-medium', 'opal-fast', 'opal-old'])
      refusalOf(await post(caller, '/v1/messages', asking(model, { max_tokens: 1 })), 402);
    expect(upstream.requests.length).toBe(sent);
    expect((await get(caller, '/me')).body).toMatchObject({ held_credits: 0 });
    expect((await gateway.events(caller.accountId)).map(({ type }) => type)).toEqual(['AccountOpened', 'ApiKeyIssued']);
  });
});

describe('the fast lane', () => {
  it('holds twice as much, where it is asked for', async () => {
    const body = asking('opal-fast', { max_tokens: 100, speed: 'fast' });
    const cost = 2 * (3 * (JSON.stringify(body).length + 2_048) + 15 * 100);
    refusalOf(await post(await account({ credits: BigInt(cost - 1) }), '/v1/messages', body), 402);
    expect((await post(await account({ credits: BigInt(cost) }), '/v1/messages', body)).status).toBe(200);
  });

  // `service_tier: auto` lets a provider use priority capacity that nobody asked for (interface, 5.3).
  it('never debits more than is there, also where an upstream serves fast unasked', async () => {
    const body = asking('opal-fast', { max_tokens: 100 });
    const bytes = JSON.stringify(body).length;
    const cost = 3 * (bytes + 2_048) + 15 * 100;
    const caller = await account({ credits: BigInt(cost) });
    upstream.answerWith(json(message({ tokens: { input: bytes + 2_048, output: 100 }, serviceTier: 'priority' })));
    expect((await post(caller, '/v1/messages', body)).status).toBe(200);
    upstream.answerWith(defaultAnswer);
    const debits = (await gateway.events(caller.accountId)).flatMap((event) =>
      event.type === 'CreditsDebited' ? [event.data] : [],
    );
    expect(debits).toMatchObject([{ uncovered: 0n }]);
  });
});
