import { afterAll, expect, it, onTestFinished } from 'vitest';
import { attemptId, grantId, keyId, leaseId, paymentId, proxyId } from '../../contracts/ids.ts';
import { microUsd } from '../../contracts/money.ts';
import { MANUAL } from '../../contracts/payments-configuration.ts';
import type { AccountCommand } from '../../ledger/account/commands.ts';
import { openAttempts } from '../../ledger/account/payments.ts';
import { catalogEntry } from '../fixtures/catalog-entry.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { type Answered, asking, type Callable, call, refusalOf } from '../fixtures/gateway/call.ts';
import { type FurtherAccount, openAccount } from '../fixtures/gateway/open-account.ts';
import { startPost } from '../fixtures/gateway/post-message.ts';
import { startTestGateway, type TestGateway } from '../fixtures/gateway/start-gateway.ts';
import { json, wait } from '../upstream/answer.ts';
import { message } from '../upstream/message.ts';
import { startUpstream } from '../upstream/upstream.ts';

/** Longer than a test may take. */
const LONG_MS = 120_000;
const upstream = endedLater(await startUpstream(), afterAll);
const accessLines: string[] = [];
const start = (settings: object): Promise<TestGateway> =>
  startTestGateway({ upstreamUrl: upstream.url, settings: { ...settings }, accessLines });
const waiting = endedLater(await start({ autoReload: { waitMs: LONG_MS } }), afterAll);

/** It could cost 0.45 USD and a little. */
const DEAR = asking('opal-medium', { max_tokens: 30_000 });

/** An account with next to nothing, for which 0.50 USD and what it had are being bought, and a little. */
async function reloading(gateway: TestGateway, credits = 1_000n) {
  return reloadingOf(gateway, await openAccount(gateway, { credits }), credits);
}

async function reloadingOf(gateway: TestGateway, account: FurtherAccount, credits: bigint, nowMs = Date.now()) {
  const { accountId } = account;
  const command = (one: AccountCommand) => gateway.command(one, accountId);
  const by = 'owner@example.com';
  const method = { customerId: accountId, paymentMethodId: 'mandate-7', brand: 'sepa', last4: '3000' };
  await command({ type: 'SavePaymentMethod', provider: MANUAL, ...method, consentedAtMs: nowMs, by });
  await command({
    ...{
      type: 'ConfigureAutoReload',
      threshold: microUsd(credits + 9_000n),
      target: microUsd(2n * credits + 600_000n),
    },
    ...{ monthlyCap: microUsd(10_000_000n), consentedAtMs: nowMs, by },
  });
  const open = () => {
    const { state } = gateway.gateway.process.projections.accounts.read(accountId);
    return state.type === 'unopened' ? undefined : openAttempts(state.billing.payments)[0];
  };
  await expect.poll(open).toBeDefined();
  const attempt = attemptId(open()?.attemptId ?? '');
  const confirm = () =>
    command({
      ...{ type: 'RecordPayment', attemptId: attempt, provider: MANUAL, paymentId: paymentId(`p_${accountId}`) },
      ...{ amount: microUsd(open()?.price ?? 0n), paidAtMs: nowMs, nowMs },
    });
  return { ...account, attempt, command, confirm };
}

interface Ended {
  readonly status: number;
}

/** Those of them that are answered, as they are. */
function answersOf<One extends Ended>(those: readonly Promise<One>[]): readonly One[] {
  const answered: One[] = [];
  for (const one of those)
    one.then(
      (answer) => answered.push(answer),
      () => undefined,
    );
  return answered;
}

/** So many, and none of those that are to wait is answered: where one is, nobody goes on waiting for it to. */
async function isWaiting(gateway: TestGateway, count: number, ...those: readonly Promise<Ended>[]): Promise<void> {
  const answered = answersOf(those);
  const waits = () => gateway.gateway.process.reloadWaits.count;
  await expect.poll(() => answered.length > 0 || waits() === count).toBe(true);
  const statuses = answered.map(({ status }) => status);
  expect({ waits: waits(), statuses }, 'those that wait for credits').toEqual({ waits: count, statuses: [] });
}

/** The message, where it does not wait before. */
async function refusedAtOnce(answer: Promise<Answered>): Promise<string> {
  const answered = answersOf([answer]);
  await expect.poll(() => answered.length > 0 || waiting.gateway.process.reloadWaits.count > 0).toBe(true);
  return refusalOf(answered[0] ?? expect.fail('it waits for credits'), 402);
}

/** Whoever waits still as its test ends leaves: no other test counts it. */
function send(caller: Callable, body: object = DEAR): Promise<Answered> {
  const leaving = new AbortController();
  onTestFinished(() => leaving.abort());
  const answer = call(caller.url, '/v1/messages', { headers: keyOf(caller), body, signal: leaving.signal });
  answer.catch(() => undefined);
  return answer;
}

const keyOf = ({ key }: Callable) => ({ 'x-api-key': key, 'content-type': 'application/json' });

const accessLineOf = async (keyIdOf: string): Promise<Record<string, unknown>> => {
  const find = () => accessLines.map((line) => JSON.parse(line).request).find(({ keyId }) => keyId === keyIdOf);
  await expect.poll(find).toBeDefined();
  return find();
};

it('a request waits where its key’s limit is held, too, for what is under way, and not where that is too narrow for it', async () => {
  // The first holds 0.456 USD of both, and leaves more of the credits than of the limit.
  const account = await openAccount(waiting, { credits: 480_000n, monthlyLimit: 470_000n });
  const caller = await reloadingOf(waiting, account, 480_000n);
  const [ended, sent] = [Promise.withResolvers<void>(), upstream.requests.length];
  upstream.answerWith(({ index }) => [
    ...(index === sent ? [wait(ended.promise)] : []),
    ...json(message({ model: 'opal-medium' })),
  ]);
  const first = send(caller);
  await upstream.seen(sent);
  const second = send(caller);
  try {
    await isWaiting(waiting, 1, second);
  } finally {
    ended.resolve();
  }
  expect([(await first).status, (await second).status]).toEqual([200, 200]);
  const limited = await openAccount(waiting, { credits: 20_000n, monthlyLimit: 30_000n });
  expect(await refusedAtOnce(send(await reloadingOf(waiting, limited, 20_000n)))).toMatch(
    /^the balance .*; the key's monthly limit of 0\.03 USD does not cover this request either$/,
  );
});

it('a request is served once what is bought meanwhile is paid', async () => {
  const caller = await reloading(waiting);
  const answer = send(caller);
  await isWaiting(waiting, 1, answer);
  // Its body waits with it, and is counted.
  expect(waiting.gateway.process.bodies.bytes).toBeGreaterThan(0);
  await caller.confirm();
  expect((await answer).status).toBe(200);
  await isWaiting(waiting, 0);
  await expect.poll(() => waiting.gateway.process.bodies.bytes).toBe(0);
  const line = await accessLineOf(caller.keyId);
  expect(Number(line.reloadWaitMs)).toBeGreaterThan(0);
  expect(Number(line.overheadMs)).toBeGreaterThanOrEqual(Number(line.reloadWaitMs));
});

it('so is one that no lease could be had for, because another proxy has all that there is', async () => {
  const settings = { proxies: 'many', leases: { reclaimMs: 10 }, autoReload: { waitMs: LONG_MS } };
  const gateway = endedLater(await start(settings));
  const caller = await reloading(gateway, 500_000n);
  const nowMs = Date.now();
  await caller.command({
    ...{ type: 'LeaseCredits', proxy: proxyId('proxy_other'), leaseId: leaseId('lease_other'), epoch: 1, keyId: null },
    ...{ requestsBeforeMs: null, othersAheadMs: 0, upTo: microUsd(500_000n), expiresAtMs: nowMs + 36_000_000, nowMs },
  });
  const answer = send(caller);
  await isWaiting(gateway, 1, answer);
  await caller.confirm();
  expect((await answer).status).toBe(200);
});

it.each([
  ['declined by whoever decides it', (attempt: string) => ({ type: 'AbandonPayment', reason: 'no', attempt })],
  [
    'declined by its provider',
    (attempt: string) => ({ type: 'RecordPaymentFailure', code: 'declined', isTerminal: false, attempt }),
  ],
])('it is refused at once where the payment is %s', async (_how, ending) => {
  const caller = await reloading(waiting);
  const answer = send(caller);
  await isWaiting(waiting, 1, answer);
  const { attempt, ...said } = ending(caller.attempt);
  await caller.command({ ...said, attemptId: attempt, nowMs: Date.now() } as unknown as AccountCommand);
  expect(refusalOf(await answer, 402)).toMatch(/^the balance does not cover this request/);
  await isWaiting(waiting, 0);
});

it('of two that wait the first is served where there is enough for one, and the other refused', async () => {
  const caller = await reloading(waiting);
  const first = send(caller);
  await isWaiting(waiting, 1, first);
  const second = send(caller);
  await isWaiting(waiting, 2, first, second);
  const sent = upstream.requests.length;
  await caller.confirm();
  expect([(await first).status, (await second).status]).toEqual([200, 402]);
  expect(upstream.requests.length).toBe(sent + 1);
});

it('one for which credits are only held for another waits until some are free, behind whom it is not enough for', async () => {
  const caller = await reloading(waiting, 500_000n);
  const [first, last] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  onTestFinished(() => [first, last].forEach(({ resolve }) => void resolve()));
  const answer = json(message({ model: 'opal-medium' }));
  const sent = upstream.requests.length;
  const gates = new Map([
    [sent, first.promise],
    [sent + 3, last.promise],
  ]);
  upstream.answerWith(({ index }) => [wait(gates.get(index) ?? Promise.resolve()), ...answer]);
  const holding = send(caller);
  await upstream.seen(sent);
  const others = [60_000, 30_000, 30_000].map((max_tokens) => send(caller, asking('opal-medium', { max_tokens })));
  await isWaiting(waiting, 3, ...others);
  first.resolve();
  expect((await holding).status).toBe(200);
  expect((await Promise.all(others.slice(1))).map(({ status }) => status)).toEqual([200, 200]);
  await isWaiting(waiting, 1, ...others.slice(0, 1));
  // With what is given to it there is enough for it, too, but for what another holds.
  const holdingAgain = send(caller);
  await upstream.seen(sent + 3);
  await caller.grant(500_000n);
  await isWaiting(waiting, 1, ...others.slice(0, 1));
  last.resolve();
  expect((await others[0])?.status).toBe(200);
  expect((await holdingAgain).status).toBe(200);
});

it('one whose plan was not paid in time waits for what is bought all the same', async () => {
  const dear = { id: 'dear', label: 'Dear', price: '5.00', credits: '0.02' };
  const models = [catalogEntry('opal-medium')];
  const time = { nowMs: Date.parse('2026-05-20T12:00:00.000Z') };
  const settings = { autoReload: { waitMs: LONG_MS } };
  const options = { upstreamUrl: upstream.url, settings, catalog: { models, plans: [dear] }, clock: () => time.nowMs };
  const gateway = endedLater(await startTestGateway(options));
  const account = await openAccount(gateway, { nowMs: time.nowMs });
  const terms = () => ({
    ...{ provider: MANUAL, catalog: gateway.gateway.process.projections.catalog.state, nowMs: time.nowMs },
  });
  const asked = { type: 'ChangePlan', plan: 'dear', reason: 'asked for', by: 'operator', ...terms() } as const;
  await gateway.command(asked, account.accountId);
  const ended = {
    type: 'AbandonPayment',
    attemptId: attemptId('renewal_2026-05-20T12:00:00.000Z'),
    reason: 'no',
  } as const;
  await gateway.command({ ...ended, nowMs: time.nowMs }, account.accountId);
  time.nowMs += 7 * 86_400_000;
  await gateway.command({ type: 'StartRenewal', ...terms() }, account.accountId);
  const caller = await reloadingOf(gateway, account, 0n, time.nowMs);
  const answer = send(caller);
  await isWaiting(gateway, 1, answer);
  await caller.confirm();
  expect((await answer).status).toBe(200);
});

it('one whose trial is used up waits for what is bought all the same', async () => {
  const account = await openAccount(waiting, { trial: 1_000n });
  const caller = await reloadingOf(waiting, account, 1_000n);
  const taken = { revocationId: 'trial', grantId: grantId('grant_trial'), cause: 'administration' } as const;
  const said = { amount: microUsd(1_000n), paymentId: null, reason: 'x', actor: 'operator', nowMs: Date.now() };
  await caller.command({ type: 'RevokeGrant', ...taken, ...said });
  const answer = send(caller);
  await isWaiting(waiting, 1, answer);
  await caller.confirm();
  expect((await answer).status).toBe(200);
});

it.each([
  ['whose key is revoked', 401, (id: string) => ({ type: 'RevokeKey', keyId: keyId(id), nowMs: Date.now() }) as const],
  ['whose account is suspended', 403, () => ({ type: 'SuspendAccount', reason: 'chargeback' }) as const],
])('one %s while it waits is told so, and waits no longer', async (_what, status, command) => {
  const caller = await reloading(waiting);
  const answer = send(caller);
  await isWaiting(waiting, 1, answer);
  await caller.command(command(caller.keyId));
  expect((await answer).status).toBe(status);
});

it('one whose limit is below it when it is paid is told of the limit', async () => {
  const caller = await reloading(waiting);
  const answer = send(caller);
  await isWaiting(waiting, 1, answer);
  await caller.command({ type: 'SetSpendLimit', keyId: null, limit: microUsd(100_000n), nowMs: Date.now() });
  await caller.confirm();
  expect(refusalOf(await answer, 402)).toMatch(
    /^the balance .*; the account's monthly limit of 0\.10 USD does not cover this request either$/,
  );
});

it('a client that leaves waits no longer, and nothing is billed to it', async () => {
  const caller = await reloading(waiting);
  const { answered, leave } = startPost(caller, { maxTokens: 30_000 });
  const failed = answered.catch(() => 'left');
  await isWaiting(waiting, 1, answered);
  leave();
  expect(await failed).toBe('left');
  await isWaiting(waiting, 0);
  const sent = upstream.requests.length;
  await caller.confirm();
  expect(upstream.requests.length).toBe(sent);
  expect((await waiting.events(caller.accountId)).map(({ type }) => type)).not.toContain('UsageRecorded');
});

it('nobody waits beyond the bound, nor where none is configured', async () => {
  const short = endedLater(await start({ autoReload: { waitMs: 50 } }));
  const late = await reloading(short);
  refusalOf(await send(late), 402);
  expect((await accessLineOf(late.keyId)).reloadWaitMs).toBeGreaterThanOrEqual(49);
  const never = endedLater(await start({}));
  const caller = await reloading(never);
  refusalOf(await send(caller), 402);
  expect((await accessLineOf(caller.keyId)).reloadWaitMs).toBeUndefined();
});

it('a gateway that stops ends the waits', async () => {
  const gateway = await start({ autoReload: { waitMs: LONG_MS } });
  const caller = await reloading(gateway);
  const answer = send(caller);
  await isWaiting(gateway, 1, answer);
  await gateway.stop();
  expect((await answer).status).toBe(529);
});
