import { afterAll, describe, expect, it } from 'vitest';
import { meSchema } from '../../../contracts/answers.ts';
import { grantId, keyId } from '../../../contracts/ids.ts';
import { microUsd } from '../../../contracts/money.ts';
import { asking, type Callable, get, post } from '../../fixtures/gateway/call.ts';
import { openAccount } from '../../fixtures/gateway/open-account.ts';
import { startOnUpstream } from '../../fixtures/gateway/start-on-upstream.ts';
import { json, wait } from '../../upstream/answer.ts';
import { message } from '../../upstream/message.ts';

const NOW = Date.parse('2026-05-15T12:00:00.000Z');
let nowMs = NOW;
const { upstream, gateway } = await startOnUpstream(afterAll, { clock: () => nowMs, creditsMicroUsd: 5_000_000n });

const me = async (caller: Callable) => meSchema.parse((await get(caller, '/me')).body);

describe('GET /me', () => {
  it('says whose key it is and what it can spend', async () => {
    const issued = await gateway.issueKey({
      name: 'laptop',
      expiresAtMs: NOW + 1_000,
      models: ['opal-medium'],
      monthlyLimit: microUsd(2_000_000n),
    });
    expect(await me({ ...gateway, ...issued })).toEqual({
      email: 'test@example.com',
      plan: expect.stringMatching(/./),
      available_credits: 5_000_000,
      held_credits: 0,
      account: { id: 'acct_test', kind: 'personal' },
      key: {
        id: issued.keyId,
        name: 'laptop',
        last4: issued.key.slice(-4),
        expires_at: '2026-05-15T12:00:01.000Z',
        models: ['opal-medium'],
      },
      month: { month: '2026-05', account: { limit: null, spent: 0 }, key: { limit: 2_000_000, spent: 0 } },
    });
  });

  it('never says the key or its hash', async () => {
    const { text } = await get(gateway, '/me');
    expect(text).not.toContain(gateway.key);
    expect(text).not.toMatch(/[0-9a-f]{64}/);
  });

  it('tells what is held while a request is under way, and what it cost once it is settled', async () => {
    const caller = await openAccount(gateway, { nowMs: NOW, credits: 1_000_000n });
    const other = { ...caller, ...(await gateway.issueKey({}, caller.accountId)) };
    const gate = Promise.withResolvers<void>();
    upstream.answerWith([wait(gate.promise), ...json(message({ tokens: { input: 1_000, output: 100 } }))]);
    const sent = upstream.requests.length;
    const body = asking('opal-medium');
    const answered = post(caller, '/v1/messages', body);
    await upstream.seen(sent);
    const held = 3 * (JSON.stringify(body).length + 2_048) + 15 * 100;
    expect(await me(caller)).toMatchObject({ available_credits: 1_000_000, held_credits: held });
    gate.resolve();
    await answered;
    await gateway.gateway.process.settlement.idle();
    expect(await me(caller)).toMatchObject({
      available_credits: 995_500,
      held_credits: 0,
      month: { account: { spent: 4_500 }, key: { spent: 4_500 } },
    });
    expect(await me(other)).toMatchObject({
      available_credits: 995_500,
      month: { account: { spent: 4_500 }, key: { spent: 0 } },
    });
  });

  it('counts grants from their first moment to their last, by the clock alone', async () => {
    const caller = await openAccount(gateway, { nowMs: NOW, credits: 10n });
    await caller.grant(200n, NOW + 2_000);
    await gateway.command(
      {
        type: 'GrantCredits',
        grantId: grantId('grant_later'),
        source: 'promotion',
        amount: microUsd(3_000n),
        costBasis: microUsd(0n),
        priority: 1,
        effectiveAtMs: NOW + 1_000,
        expiresAtMs: null,
      },
      caller.accountId,
    );
    const at = async (ms: number): Promise<number> => {
      nowMs = ms;
      const { available_credits } = await me(caller);
      nowMs = NOW;
      return available_credits;
    };
    expect(await at(NOW)).toBe(210);
    expect(await at(NOW + 999)).toBe(210);
    expect(await at(NOW + 1_000)).toBe(3_210);
    expect(await at(NOW + 1_999)).toBe(3_210);
    expect(await at(NOW + 2_000)).toBe(3_010);
  });

  it('tells a member with whose key it is asked nothing of the account but what the key can spend', async () => {
    const caller = await openAccount(gateway, { nowMs: NOW, credits: 1_000n, kind: 'organization' });
    const keyOf = async (email: string, role: 'admin' | 'member') => {
      await gateway.command({ type: 'AddMember', email, role, by: 'test', nowMs: NOW }, caller.accountId);
      return { ...caller, ...(await gateway.issueKey({ member: email }, caller.accountId)) };
    };
    const ben = await me(await keyOf('Ben@example.com', 'member'));
    expect(ben).toMatchObject({ email: 'Ben@example.com', available_credits: 1_000, month: { key: { spent: 0 } } });
    expect(ben).not.toHaveProperty('held_credits');
    expect(ben.month).not.toHaveProperty('account');
    for (const seen of [await me(await keyOf('eve@example.com', 'admin')), await me(caller)])
      expect(seen).toMatchObject({ held_credits: 0, month: { account: { spent: 0 } } });
  });

  it('follows a limit that is set and taken away', async () => {
    const caller = await openAccount(gateway, { nowMs: NOW, credits: 10n });
    const set = (id: string | null, limit: bigint | null, member: string | null = null) =>
      gateway.command(
        {
          type: 'SetSpendLimit',
          keyId: id === null ? null : keyId(id),
          member,
          limit: limit === null ? null : microUsd(limit),
          nowMs,
        },
        caller.accountId,
      );
    await set(null, 7_000n);
    await set(caller.keyId, 6_000n);
    expect(await me(caller)).toMatchObject({ month: { account: { limit: 7_000 }, key: { limit: 6_000 } } });
    expect((await me(caller)).month).not.toHaveProperty('member');
    const { email } = await me(caller);
    await set(null, 8_000n, email.toUpperCase());
    expect(await me(caller)).toMatchObject({ month: { member: { limit: 8_000, spent: 0 } } });
    await set(null, null, email);
    expect((await me(caller)).month).not.toHaveProperty('member');
    await set(null, null);
    await set(caller.keyId, null);
    expect(await me(caller)).toMatchObject({ month: { account: { limit: null }, key: { limit: null } } });
  });
});
