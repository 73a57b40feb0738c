import { afterAll, beforeEach, expect, it } from 'vitest';
import { meSchema } from '../../contracts/answers.ts';
import { attemptId, grantId, paymentId } from '../../contracts/ids.ts';
import { microUsd } from '../../contracts/money.ts';
import { NO_PLAN } from '../../contracts/plan.ts';
import { catalogEntry } from '../fixtures/catalog-entry.ts';
import { asking, type Callable, get, post, refusalOf } from '../fixtures/gateway/call.ts';
import { type FurtherAccount, openAccount } from '../fixtures/gateway/open-account.ts';
import { startOnUpstream } from '../fixtures/gateway/start-on-upstream.ts';

const NOW = Date.parse('2026-05-31T23:59:59.000Z');
const DAY = 24 * 3_600_000;
let nowMs = NOW;
beforeEach(() => {
  nowMs = NOW;
});
const free = { label: 'Free', price: '0', credits: '0.02' };
const { gateway } = await startOnUpstream(afterAll, {
  ...{ provider: { countTokens: false }, clock: () => nowMs, creditsMicroUsd: 0n },
  catalog: {
    models: [catalogEntry('opal-medium'), catalogEntry('opal-fast')],
    plans: [
      { ...free, id: 'narrow', models: ['opal-medium'] },
      { ...free, id: 'owing', overdraft: '0.01' },
      { ...free, id: 'slow', rate_limits: { requestsPerMinute: 1 } },
      { ...free, id: 'dear', price: '5.00' },
      { ...free, id: 'dear-owing', price: '5.00', overdraft: '0.01' },
    ],
  },
});

const send = (caller: Callable, maxTokens: number, model = 'opal-medium') =>
  post(caller, '/v1/messages', asking(model, { max_tokens: maxTokens }));
const catalog = () => gateway.gateway.process.projections.catalog.state;
const renewing = () => ({ provider: 'manual', catalog: catalog(), nowMs });

async function onPlan(plan: string): Promise<FurtherAccount> {
  const account = await openAccount(gateway, { nowMs });
  await choose(account, plan);
  return account;
}
const choose = ({ accountId }: FurtherAccount, plan: string): Promise<void> =>
  gateway.command({ type: 'ChangePlan', plan, reason: 'as asked for', by: 'operator', ...renewing() }, accountId);

it('models that the plan does not have are refused, as those that a key may not call', async () => {
  const account = await onPlan('narrow');
  expect((await send(account, 500)).status).toBe(200);
  const refused = await send(account, 500, 'opal-fast');
  expect(refusalOf(refused, 403)).toBe('model: the plan narrow does not have opal-fast');
  const counting = await post(account, '/v1/messages/count_tokens', asking('opal-fast'));
  expect(refusalOf(counting, 403)).toBe('model: the plan narrow does not have opal-fast');
  await gateway.command({ type: 'EndPlan', reason: 'x', by: 'ops', nowMs }, account.accountId);
  expect((await send(account, 500, 'opal-fast')).status).toBe(200);
});

it('what may be owed by the plan is there beside the balance, as long as there is the plan', async () => {
  const account = await onPlan('owing');
  const plain = await onPlan('narrow');
  // More than 0.02 USD, and less than 0.03.
  expect(refusalOf(await send(plain, 1_200), 402)).toContain('0.02 USD is left');
  expect((await send(account, 1_200)).status).toBe(200);
  await gateway.command({ type: 'EndPlan', reason: 'x', by: 'ops', nowMs }, account.accountId);
  expect(refusalOf(await send(account, 1_200), 402)).toMatch(/^the balance does not cover this request/);
});

it('nothing may be owed by a plan while all that was paid for it is back', async () => {
  const account = await onPlan('dear-owing');
  const claim = attemptId(`renewal_${new Date(nowMs).toISOString()}`);
  const paid = { paymentId: paymentId('p1'), amount: microUsd(5_000_000n) };
  const first = { attemptId: claim, provider: 'manual', ...paid, paidAtMs: nowMs, nowMs };
  await gateway.command({ type: 'RecordPayment', ...first }, account.accountId);
  const said = { ...paid, reason: 'x', actor: 'operator', nowMs };
  await gateway.command({ type: 'RecordRefund', refundId: 'r1', refundedAtMs: nowMs, ...said }, account.accountId);
  // A hundredth of a dollar would do.
  expect(refusalOf(await send(account, 100), 402)).toMatch(/^the balance does not cover .* 0\.00 USD is left/);
  await gateway.command({ type: 'WithdrawRefund', refundId: 'r1', ...said }, account.accountId);
  // More than 0.02 USD, and less than 0.03.
  expect((await send(account, 1_200)).status).toBe(200);
});

it('a key tells which plan its account has, the trial before the first one, and what it goes back to when it ends', async () => {
  const account = await openAccount(gateway, { nowMs });
  const planOf = async () => meSchema.parse((await get(account, '/me')).body).plan;
  expect(await planOf()).toBe('trial');
  await choose(account, 'narrow');
  expect(await planOf()).toBe('narrow');
  await gateway.command({ type: 'EndPlan', reason: 'x', by: 'ops', nowMs }, account.accountId);
  expect(await planOf()).toBe('trial');
});

it('models and rates are the plan’s until it is over, whether that is written down yet or not', async () => {
  const [narrow, slow] = [await onPlan('narrow'), await onPlan('slow')];
  const endMs = Date.parse('2026-06-30T23:59:59.000Z');
  for (const account of [narrow, slow]) {
    await choose(account, NO_PLAN);
    const times = { effectiveAtMs: nowMs, expiresAtMs: endMs + DAY };
    await gateway.command({ type: 'GrantCredits', ...MORE, ...times }, account.accountId);
  }
  nowMs = endMs - 1;
  expect((await send(narrow, 1, 'opal-fast')).status).toBe(403);
  nowMs = endMs;
  expect((await send(narrow, 1, 'opal-fast')).status).toBe(200);
  expect([await send(slow, 1), await send(slow, 1)].map(({ status }) => status)).toEqual([200, 200]);
});

it('calls are limited by the rates of the plan', async () => {
  const account = await onPlan('slow');
  expect((await send(account, 1)).status).toBe(200);
  expect(refusalOf(await send(account, 1), 429)).toMatch(/requests/);
});

it('a plan that was not paid in time, and a trial that is used up, say so, and what to do', async () => {
  const account = await onPlan('dear');
  nowMs = NOW + 7 * DAY;
  await gateway.command({ type: 'StartRenewal', ...renewing() }, account.accountId);
  expect(refusalOf(await send(account, 500), 402)).toMatch(
    /^the plan dear was not paid by 2026-06-07T23:59:59\.000Z, and no credits are left: buy credits or choose a plan; it could cost /,
  );
  await gateway.command(
    { type: 'GrantCredits', ...MORE, effectiveAtMs: nowMs, expiresAtMs: nowMs + DAY },
    account.accountId,
  );
  expect((await send(account, 500)).status).toBe(200);
  nowMs += DAY;
  expect(refusalOf(await send(account, 500), 402)).toMatch(/^the balance does not cover this request: /);

  const trial = await openAccount(gateway, { nowMs, trial: 1_000n });
  await gateway.command({ type: 'RevokeGrant', ...TAKEN, nowMs }, trial.accountId);
  expect(refusalOf(await send(trial, 500), 402)).toMatch(
    /^the trial credits are used up: buy credits or choose a plan; it could cost .* 0\.00 USD is left/,
  );
  await choose(trial, 'owing');
  expect((await send(trial, 500)).status).toBe(200);
  await choose(trial, NO_PLAN);
  expect((await send(trial, 500)).status).toBe(200);
});

it('a plan that was never had is one that was not paid, and has not ended, also after another that was had', async () => {
  const account = await onPlan('narrow');
  await gateway.command({ type: 'EndPlan', reason: 'x', by: 'ops', nowMs }, account.accountId);
  const used = { ...TAKEN, grantId: grantId(`renewal_${new Date(nowMs).toISOString()}`) };
  await gateway.command({ type: 'RevokeGrant', ...used, nowMs }, account.accountId);
  await choose(account, 'dear');
  nowMs += 7 * DAY;
  await gateway.command({ type: 'StartRenewal', ...renewing() }, account.accountId);
  expect(refusalOf(await send(account, 500), 402)).toMatch(
    /^the plan dear was not paid by 2026-06-07T23:59:59\.000Z, and no credits are left: /,
  );
});

it.each([
  ['at once', 0],
  ['after an outage of more than a period', 40 * DAY],
])(
  'a plan that cost nothing, and is not paid for once it costs something, has ended: asked for %s',
  async (_what, lateMs) => {
    nowMs = NOW;
    const account = await onPlan('narrow');
    const endMs = Date.parse('2026-06-30T23:59:59.000Z');
    nowMs = endMs - 60_000;
    await choose(account, 'dear');
    nowMs = endMs + lateMs;
    await gateway.command({ type: 'StartRenewal', ...renewing() }, account.accountId);
    nowMs += 7 * DAY;
    await gateway.command({ type: 'StartRenewal', ...renewing() }, account.accountId);
    expect(refusalOf(await send(account, 500), 402)).toMatch(
      /^the plan narrow ended at 2026-0[78]-\d\dT23:59:59\.000Z because it was not paid in time, and no credits are left: /,
    );
  },
);

it('a renewal that was declined says so, why, until when it may be paid, and what to do; one that nobody has answered, that it is not paid', async () => {
  const account = await onPlan('dear');
  const claim = () => attemptId(`renewal_${new Date(nowMs).toISOString()}`);
  const first = { attemptId: claim(), provider: 'manual', paymentId: paymentId('p1'), amount: microUsd(5_000_000n) };
  await gateway.command({ type: 'RecordPayment', ...first, paidAtMs: nowMs, nowMs }, account.accountId);
  expect((await send(account, 500)).status).toBe(200);
  nowMs = Date.parse('2026-06-30T23:59:59.000Z');
  const renewal = claim();
  await gateway.command({ type: 'StartRenewal', ...renewing() }, account.accountId);
  const END = 'the plan ends unless it is paid by 2026-07-07T23:59:59.000Z';
  const LACKS = 'the balance does not cover this request, and the renewal of the plan dear';
  expect(refusalOf(await send(account, 500), 402)).toContain(
    `${LACKS} is not paid yet, ${END}: pay for it, or buy credits; it could cost `,
  );
  const declined = { attemptId: renewal, code: 'insufficient_funds', isTerminal: false };
  await gateway.command({ type: 'RecordPaymentFailure', ...declined, nowMs }, account.accountId);
  const NEXT = 'save another payment method, ask for the plan again, or buy credits; it could cost ';
  expect(refusalOf(await send(account, 500), 402)).toContain(
    `${LACKS} was declined (insufficient_funds), it is tried again at 2026-07-01T23:59:59.000Z, and ${END}: ${NEXT}`,
  );
  nowMs += DAY;
  await gateway.command({ type: 'StartRenewal', ...renewing() }, account.accountId);
  expect(refusalOf(await send(account, 500), 402)).toContain(
    `${LACKS} was declined (insufficient_funds), ${END}: ${NEXT}`,
  );
  const lost = { attemptId: attemptId(`${renewal}_2`), code: 'stolen_card', isTerminal: true };
  await gateway.command({ type: 'RecordPaymentFailure', ...lost, nowMs }, account.accountId);
  // Who has the key is not to learn that.
  expect(refusalOf(await send(account, 500), 402)).toContain(`${LACKS} was declined (card_declined), ${END}: ${NEXT}`);
  nowMs += 7 * DAY;
  expect(refusalOf(await send(account, 500), 402)).toContain(
    `${LACKS} was declined (card_declined), the time to pay it was over at 2026-07-07T23:59:59.000Z: ${NEXT}`,
  );
  await gateway.command({ type: 'StartRenewal', ...renewing() }, account.accountId);
  expect(refusalOf(await send(account, 500), 402)).toMatch(
    /^the plan dear ended at 2026-07-08T23:59:59\.000Z because it was not paid in time, and no credits are left: /,
  );
  await gateway.command(
    { ...{ type: 'GrantCredits', ...MORE, grantId: grantId('other') }, effectiveAtMs: nowMs, expiresAtMs: null },
    account.accountId,
  );
  expect((await send(account, 500)).status).toBe(200);
});

it('a plan that has ended, and was paid by then, as is told after its end, did not end unpaid: what is used up is the balance', async () => {
  const account = await onPlan('dear');
  const claim = attemptId(`renewal_${new Date(nowMs).toISOString()}`);
  const paid = { attemptId: claim, provider: 'manual', paymentId: paymentId('p1'), amount: microUsd(5_000_000n) };
  nowMs = NOW + 7 * DAY;
  await gateway.command({ type: 'StartRenewal', ...renewing() }, account.accountId);
  const ENDED = /^the plan dear (?:was not paid by|ended at) 2026-06-07T23:59:59\.000Z/;
  expect(refusalOf(await send(account, 500), 402)).toMatch(ENDED);
  nowMs += DAY;
  await gateway.command({ type: 'RecordPayment', ...paid, paidAtMs: NOW + DAY, nowMs }, account.accountId);
  expect((await send(account, 500)).status).toBe(200);
  const used = { ...TAKEN, revocationId: 'used', grantId: grantId('payment_p1') };
  await gateway.command({ type: 'RevokeGrant', ...used, nowMs }, account.accountId);
  expect(refusalOf(await send(account, 500), 402)).toMatch(/^the balance does not cover this request: /);
});

const MORE = {
  ...{ grantId: grantId('more'), source: 'purchase' as const, amount: microUsd(1_000_000n) },
  ...{ costBasis: microUsd(1_000_000n), priority: 100 },
};
const TAKEN = {
  ...{
    revocationId: 'r',
    grantId: 'grant_trial' as never,
    amount: null,
    cause: 'administration' as const,
    paymentId: null,
  },
  ...{ reason: 'as if it were spent', actor: 'operator' },
};
