import { afterAll, expect, it, onTestFinished } from 'vitest';
import { microUsd } from '../../contracts/money.ts';
import { asking, type Callable, post, refusalOf } from '../fixtures/gateway/call.ts';
import { type FurtherAccount, openAccount } from '../fixtures/gateway/open-account.ts';
import { startOnUpstream } from '../fixtures/gateway/start-on-upstream.ts';
import { json, wait } from '../upstream/answer.ts';
import { defaultAnswer } from '../upstream/default-answer.ts';
import { message } from '../upstream/message.ts';

/** An upstream that does not count; opal-medium: 3 and 15 micro-USD a token (money-gate.test.ts). */
const { upstream, gateway } = await startOnUpstream(afterAll, {
  provider: { countTokens: false },
  creditsMicroUsd: 0n,
});
const BEN = 'ben@example.com';

const send = (caller: Callable, maxTokens: number) =>
  post(caller, '/v1/messages', asking('opal-medium', { max_tokens: maxTokens }));
const costOf = (maxTokens: number) =>
  3 * (JSON.stringify(asking('opal-medium', { max_tokens: maxTokens })).length + 2_048) + 15 * maxTokens;
/** What the upstream's default answer costs. */
const DEBITED = 25 * 3 + 12 * 15;
const usd = (amount: number) => (amount / 1e6).toFixed(6).replace(/0{1,4}$/, '');

interface Organization {
  readonly owner: FurtherAccount;
  readonly bens: readonly [Callable, Callable];
  limit(amount: number | null, mode?: 'hard' | 'soft'): Promise<void>;
}

async function organization(): Promise<Organization> {
  const owner = await openAccount(gateway, { credits: 1_000_000n, kind: 'organization' });
  const { accountId } = owner;
  await gateway.command({ type: 'AddMember', email: BEN, role: 'member', by: 'test', nowMs: Date.now() }, accountId);
  const issue = async () => ({ ...owner, ...(await gateway.issueKey({ member: BEN }, accountId)) });
  return {
    owner,
    bens: [await issue(), await issue()],
    limit: async (amount, mode = 'hard') => {
      const limit = amount === null ? null : microUsd(BigInt(amount));
      await gateway.command(
        { type: 'SetSpendLimit', keyId: null, member: BEN, limit, mode, nowMs: Date.now() },
        accountId,
      );
    },
  };
}

it('of all keys of a member refuses what it does not cover, says what is spent and left, and binds nobody else', async () => {
  const { owner, bens, limit } = await organization();
  await limit(20_000);
  expect((await send(bens[0], 500)).status).toBe(200);
  await gateway.gateway.process.settlement.idle();
  const answer = await send(bens[1], 999);
  const said = refusalOf(answer, 402);
  const left = 20_000 - DEBITED;
  const fitting = Number(/the largest max_tokens that would pass is (\d+)$/.exec(said)?.[1]);
  expect(said).toBe(
    `the member's monthly limit of 0.02 USD does not cover this request: it could cost ${usd(costOf(999))} USD with ` +
      `max_tokens 999, ${usd(left)} USD is left, ${usd(DEBITED)} USD is spent in ${new Date().toISOString().slice(0, 7)}; ` +
      `the largest max_tokens that would pass is ${fitting}`,
  );
  expect(costOf(fitting)).toBeLessThanOrEqual(left);
  expect(costOf(fitting + 1)).toBeGreaterThan(left);
  expect((await send(owner, 999)).status).toBe(200);
  expect((await send(bens[1], fitting)).status).toBe(200);
});

it('counts what another key of the member holds', async () => {
  const gate = Promise.withResolvers<void>();
  onTestFinished(() => gate.resolve());
  const { owner, bens, limit } = await organization();
  await limit(costOf(500) + 100);
  upstream.answerWith([wait(gate.promise), ...json(message({ model: 'opal-medium' }))]);
  const sent = upstream.requests.length;
  const holding = send(bens[0], 500);
  await upstream.seen(sent);
  // Where it is let through it goes upstream, and nothing is waited for that does not come.
  const refused = await Promise.race([send(bens[1], 500), upstream.seen(sent + 1)]);
  if (refused === undefined || !('status' in refused)) throw new Error('it was let through');
  const ofOwner = send(owner, 500);
  await upstream.seen(sent + 1);
  gate.resolve();
  expect([(await holding).status, (await ofOwner).status]).toEqual([200, 200]);
  upstream.answerWith(defaultAnswer);
  expect(refusalOf(refused, 402)).toMatch(
    new RegExp(`^the member's monthly limit .* \\(${usd(costOf(500))} USD more is held for requests under way\\)`),
  );
});

it('that is soft refuses nothing, of a member, of a key or of the account, and one that is hard again does', async () => {
  const { owner, bens, limit } = await organization();
  const [ben] = bens;
  await limit(1, 'soft');
  for (const keyId of [null, (ben as FurtherAccount & { keyId: string }).keyId] as never[])
    await gateway.command(
      { type: 'SetSpendLimit', keyId, limit: microUsd(1n), mode: 'soft', nowMs: Date.now() },
      owner.accountId,
    );
  expect((await send(ben, 500)).status).toBe(200);
  await gateway.gateway.process.settlement.idle();
  const told = (await gateway.events(owner.accountId)).flatMap(({ type, data }) =>
    type === 'SpendThresholdCrossed' ? [`${data.scope} ${data.thresholdPercent}`] : [],
  );
  expect(told).toEqual(['account', 'member', 'key'].flatMap((scope) => [50, 80, 100].map((at) => `${scope} ${at}`)));
  await limit(1);
  refusalOf(await send(ben, 500), 402);
  await limit(null);
  expect((await send(ben, 500)).status).toBe(200);
});
