import { setImmediate as nextTurn } from 'node:timers/promises';
import pino from 'pino';
import { expect, it, onTestFinished, vi } from 'vitest';
import { encodeEvents } from '../../contracts/event-codec.ts';
import { type AccountId, accountId, accountStream, attemptId, paymentId } from '../../contracts/ids.ts';
import { LIMITS } from '../../contracts/limits.ts';
import { SYSTEM } from '../../contracts/permissions.ts';
import { catchUpAccount } from '../../ledger/account/account-repository.ts';
import type { AccountCommand } from '../../ledger/account/commands.ts';
import { executeOnRepository } from '../../ledger/account/execute-command.ts';
import { EMPTY_CATALOG } from '../../ledger/catalog/catalog-state.ts';
import type { KnownPlans } from '../../ledger/catalog/known-plans.ts';
import type { AskedPayment, PaymentOutcome } from '../../ledger/payments/payment-provider.ts';
import { recordingBy } from '../../ledger/recording-by.ts';
import { AccountViews } from '../../projections/account-views.ts';
import { PaymentsUpkeep } from '../../proxy/payments-upkeep.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { ACCOUNT, granted, keyIssued, ms, opened, record, usageOf, usd } from '../fixtures/ledger/example-account.ts';
import { catalogOf, STARTER } from '../fixtures/ledger/example-plan-events.ts';
import { MemoryEventLog } from '../fixtures/ledger/memory-event-log.ts';

const DAY_MS = 86_400_000;
const NOW = ms('2026-11-20T10:00:00.000Z');
const configure: AccountCommand = {
  ...{ type: 'ConfigureAutoReload', threshold: usd(5_000_000), target: usd(20_000_000) },
  ...{ monthlyCap: usd(60_000_000), consentedAtMs: NOW, by: 'owner@example.com' },
};
const save: AccountCommand = {
  ...{ type: 'SavePaymentMethod', provider: 'stripe', customerId: 'c', paymentMethodId: 'pm', brand: 'visa' },
  ...{ last4: '4242', consentedAtMs: NOW, by: 'owner@example.com' },
};

/** With what could be charged then. */
type SeenPayment = Omit<AskedPayment, 'method'> & { readonly method: ReturnType<AskedPayment['method']> };

async function scene(catalog: KnownPlans = EMPTY_CATALOG, product = 'gateway') {
  const log = new MemoryEventLog();
  const start = [opened, keyIssued(), granted('g', 6_000_000)];
  log.write(accountStream(ACCOUNT), encodeEvents(start, recordingBy('test', NOW)));
  const accounts = new AccountViews();
  await catchUpAccount(log, accounts, ACCOUNT);
  const asked: SeenPayment[] = [];
  const withdrawn: SeenPayment[] = [];
  const outcomes: PaymentOutcome[] = [];
  const made = { mayWrite: true, nowMs: NOW };
  const told: Readonly<Record<string, unknown>>[] = [];
  const provider = {
    name: 'stripe',
    ask: async (one: AskedPayment): Promise<PaymentOutcome> => {
      asked.push({ ...one, method: one.method() });
      return outcomes.shift() ?? { type: 'waits', url: null };
    },
    withdraw: async (one: AskedPayment): Promise<PaymentOutcome> => {
      withdrawn.push({ ...one, method: one.method() });
      return { type: 'abandoned', reason: 'nothing was charged' };
    },
  };
  const upkeep = endedLater(
    new PaymentsUpkeep({
      ...{ log, accounts, product, provider, clock: () => made.nowMs, mayWrite: () => made.mayWrite },
      catalog: () => catalog,
      logger: pino({ level: 'warn' }, { write: (line) => void told.push(JSON.parse(line)) }),
    }),
  );
  const run = async (command: AccountCommand): Promise<void> => {
    const result = await executeOnRepository(
      log,
      accounts,
      ACCOUNT,
      command,
      await actorOf(command),
      recordingBy('test', NOW),
    );
    if (result.type === 'refused') throw new Error(result.message);
    await upkeep.whenIdle();
  };
  return { log, upkeep, asked, withdrawn, outcomes, made, told, run, types: () => log.events.map(({ type }) => type) };
}

const actorOf = async (command: AccountCommand) =>
  ['ConfigureAutoReload', 'ChangePlan', 'SuspendAccount'].includes(command.type)
    ? ({ type: 'operator', name: 'x' } as const)
    : SYSTEM;

const paid = (id: string): PaymentOutcome => ({
  ...{ type: 'paid', paymentId: paymentId(id), amount: usd(15_010_000), paidAtMs: NOW },
});

it('credits are bought as a debit brings the level down, and by the configuration where it is down already', async () => {
  const { run, asked, outcomes, types } = await scene();
  await run(configure);
  await run(save);
  expect(asked).toEqual([]);
  outcomes.push({ ...paid('pi_1'), amount: usd(15_000_000) } as PaymentOutcome);
  await run(record(usageOf(1, 1_000_000)));
  expect(asked).toMatchObject([{ attempt: { kind: 'reload', price: 15_000_000n } }]);
  expect(types().slice(-3)).toEqual(['AutoReloadStarted', 'PaymentSucceeded', 'CreditsGranted']);

  const low = await scene();
  await low.run(record(usageOf(1, 5_000_000)));
  await low.run(save);
  await low.run(configure);
  expect(low.asked.length).toBe(1);
});

it('accounts of another product are left to its own gateways, which may ask another provider', async () => {
  const { run, asked, types } = await scene(EMPTY_CATALOG, 'other');
  await run(configure);
  await run(save);
  await run(record(usageOf(1, 1_000_000)));
  expect(asked).toEqual([]);
  expect(types()).not.toContain('AutoReloadStarted');
});

it('what is open is asked of again by the clock, not by each event, and nothing is written while nothing may be', async () => {
  const { run, asked, outcomes, types, upkeep, made } = await scene();
  await run(save);
  await run(configure);
  made.mayWrite = false;
  await run(record(usageOf(1, 1_000_000)));
  await upkeep.look();
  expect(asked).toEqual([]);
  made.mayWrite = true;
  await upkeep.look();
  await run(record(usageOf(2, 1_000)));
  expect(asked.length).toBe(1);
  outcomes.push({ ...paid('pi_1'), amount: usd(15_000_000) } as PaymentOutcome);
  await upkeep.look();
  expect(new Set(asked.map(({ attempt }) => attempt.attemptId)).size).toBe(1);
  expect(types().filter((type) => type === 'PaymentSucceeded')).toEqual(['PaymentSucceeded']);
  expect(attemptId(asked[0]?.attempt.attemptId ?? '')).toMatch(/^reload_[0-9a-f]{16}$/);
});

it('what is open is asked of again every 30 seconds, until it is closed', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const { run, asked, upkeep } = await scene();
  await run(save);
  await run(configure);
  await run(record(usageOf(1, 1_000_000)));
  const askedAfter = async (passedMs: number): Promise<number> => {
    vi.advanceTimersByTime(passedMs);
    await upkeep.whenIdle();
    return asked.length;
  };
  expect(await askedAfter(29_999)).toBe(1);
  expect(await askedAfter(1)).toBe(2);
  expect(await askedAfter(30_000)).toBe(3);
  await upkeep.close();
  expect(await askedAfter(60_000)).toBe(3);
});

const refused: PaymentOutcome = { type: 'refused', reason: 'Stripe has refused: StripePermissionError, 403' };

it('a reload that the provider refuses is over and told, begun again an hour later, and not while nobody waits so long', async () => {
  const { run, asked, outcomes, types, upkeep, made, told, log } = await scene();
  await run(save);
  await run(configure);
  outcomes.push(refused);
  await run(record(usageOf(1, 1_000_000)));
  expect(asked.map(({ isFirst }) => isFirst)).toEqual([true]);
  expect(types().slice(-3)).toEqual(['AutoReloadStarted', 'PaymentAbandoned', 'AutoReloadSkipped']);
  const given = log.events.find(({ type }) => type === 'PaymentAbandoned');
  expect(JSON.parse(given?.data ?? '')).toMatchObject({ reason: 'Stripe has refused: StripePermissionError, 403' });
  expect(told).toMatchObject([
    { level: 50, accountId: ACCOUNT, attemptId: asked[0]?.attempt.attemptId, reason: refused.reason },
  ]);
  await run(record(usageOf(2, 1_000)));
  made.nowMs += 3_600_000 - 1;
  await upkeep.look();
  expect(asked.length).toBe(1);
  made.nowMs += 1;
  outcomes.push({ ...paid('pi_1'), amount: usd(15_010_000) } as PaymentOutcome);
  await upkeep.look();
  expect(types().slice(-3)).toEqual(['AutoReloadStarted', 'PaymentSucceeded', 'CreditsGranted']);
  expect(told.length).toBe(1);
});

it('what stays open was asked of before, each time but the first', async () => {
  const { run, asked, upkeep } = await scene();
  await run(save);
  await run(configure);
  await run(record(usageOf(1, 1_000_000)));
  await upkeep.look();
  await upkeep.look();
  expect(asked.map(({ isFirst }) => isFirst)).toEqual([true, false, false]);
});

it('a renewal that the provider refuses is begun again a day later, and the plan goes on past its grace', async () => {
  const catalog = catalogOf(STARTER);
  const { run, asked, outcomes, made, upkeep, types } = await scene(catalog);
  await run({
    ...{ type: 'ChangePlan', plan: 'starter', provider: 'stripe', catalog, reason: 'as asked for', by: 'operator' },
    nowMs: NOW,
  });
  outcomes.push({ ...paid('pi_1'), amount: STARTER.price } as PaymentOutcome);
  await upkeep.look();
  made.nowMs = ms('2026-12-20T10:00:00.000Z');
  outcomes.push(refused, refused, refused);
  await upkeep.look();
  await upkeep.look();
  expect(types().slice(-2)).toEqual(['RenewalStarted', 'PaymentAbandoned']);
  made.nowMs += DAY_MS - 1;
  await upkeep.look();
  expect(asked.length).toBe(2);
  for (const days of [1, 3]) {
    made.nowMs = ms('2026-12-20T10:00:00.000Z') + days * DAY_MS;
    await upkeep.look();
  }
  expect(asked.map(({ isFirst }) => isFirst)).toEqual([false, true, true, true]);
  made.nowMs = ms('2026-12-27T10:00:00.000Z');
  outcomes.push({ ...paid('pi_2'), amount: STARTER.price } as PaymentOutcome);
  await upkeep.look();
  expect(types().slice(-3)).toEqual(['RenewalStarted', 'PaymentSucceeded', 'CreditsGranted']);
  expect(types()).not.toContain('PlanEnded');
});

it('a plan is renewed by the clock alone, asked of at once, and again while it is open', async () => {
  const catalog = catalogOf(STARTER);
  const { run, asked, outcomes, made, upkeep, types } = await scene(catalog);
  const asking = { plan: 'starter', provider: 'stripe', catalog, reason: 'as asked for', by: 'operator', nowMs: NOW };
  await run({ type: 'ChangePlan', ...asking });
  // Whoever has asked for the plan asks the provider, too; otherwise the clock does.
  expect(asked).toEqual([]);
  outcomes.push({ ...paid('pi_1'), amount: STARTER.price } as PaymentOutcome);
  await upkeep.look();
  expect(types().slice(-2)).toEqual(['PaymentSucceeded', 'CreditsGranted']);
  await upkeep.look();
  made.nowMs = ms('2026-12-20T10:00:00.000Z');
  await upkeep.look();
  await upkeep.look();
  expect(asked.map(({ attempt }) => attempt.attemptId)).toEqual([
    'renewal_2026-11-20T10:00:00.000Z',
    ...Array(2).fill('renewal_2026-12-20T10:00:00.000Z'),
  ]);
  expect(types().filter((type) => type === 'RenewalStarted').length).toBe(2);
  made.nowMs = ms('2026-12-27T10:00:00.000Z');
  outcomes.push({ type: 'failed', code: 'card_declined', isTerminal: false });
  await upkeep.look();
  await upkeep.look();
  expect(types().slice(-2)).toEqual(['PaymentFailed', 'PlanEnded']);
});

it('what was not begun while nothing might be written is begun for who waits for it, once', async () => {
  const { run, asked, upkeep, made } = await scene();
  await run(save);
  await run(configure);
  made.mayWrite = false;
  await run(record(usageOf(1, 1_000_000)));
  made.mayWrite = true;
  upkeep.lookAt(ACCOUNT);
  upkeep.lookAt(ACCOUNT);
  await upkeep.whenIdle();
  expect(asked.length).toBe(1);
});

it('a reload of an account that is suspended is asked of without what could be charged', async () => {
  const { run, asked, withdrawn, upkeep } = await scene();
  await run(save);
  await run(configure);
  await run(record(usageOf(1, 1_000_000)));
  await run({ type: 'SuspendAccount', reason: 'fraud' });
  await upkeep.look();
  expect(asked.map(({ method }) => method?.paymentMethodId)).toEqual(['pm', undefined]);
  expect(withdrawn).toEqual([]);
});

it('a reload whose owner consents no more is ended, without what could be charged', async () => {
  const { run, asked, withdrawn, upkeep, types } = await scene();
  await run(save);
  await run(configure);
  await run(record(usageOf(1, 1_000_000)));
  await run({ ...configure, consentedAtMs: null });
  await upkeep.look();
  await upkeep.look();
  expect(asked.length).toBe(1);
  expect(withdrawn.map(({ method }) => method)).toEqual([null]);
  expect(types()).toContain('PaymentAbandoned');
});

it.each(['stripe', 'manual'])('a period of a plan that was ended, which %s takes, is ended, too', async (provider) => {
  const catalog = catalogOf(STARTER);
  const { run, asked, withdrawn, upkeep, types } = await scene(catalog);
  await run(save);
  const asking = { plan: 'starter', provider, catalog, reason: 'as asked for', by: 'operator', nowMs: NOW };
  await run({ type: 'ChangePlan', ...asking });
  await upkeep.look();
  await run({ type: 'ChangePlan', ...asking, plan: 'none' });
  await upkeep.look();
  await upkeep.look();
  expect(asked.length).toBe(provider === 'stripe' ? 1 : 0);
  expect(withdrawn.map(({ method }) => method)).toEqual(provider === 'stripe' ? [null] : []);
  expect(types().slice(-2)).toEqual(['PlanEnded', 'PaymentAbandoned']);
});

/** Many accounts whose reload is to begin, and a provider that answers when it is let. */
async function manyScene(count: number) {
  const log = new MemoryEventLog();
  const accounts = new AccountViews();
  const ids = Array.from({ length: count }, (_, index) => accountId(`acct_${index}`));
  const made = { mayWrite: false, began: 0 };
  const asked: AccountId[] = [];
  const { promise: isLet, resolve: letAll } = Promise.withResolvers<PaymentOutcome>();
  const ask = ({ accountId }: AskedPayment): Promise<PaymentOutcome> => {
    asked.push(accountId);
    return isLet;
  };
  const upkeep = endedLater(
    new PaymentsUpkeep({
      ...{
        log,
        accounts,
        product: 'gateway',
        provider: { name: 'stripe', ask, withdraw: ask, close: () => letAll(WAITS) },
      },
      ...{ catalog: () => EMPTY_CATALOG, clock: () => NOW },
      mayWrite: () => {
        made.began++;
        return made.mayWrite;
      },
      logger: pino({ level: 'silent' }),
    }),
  );
  for (const id of ids) {
    const key = keyIssued({ sha256: Buffer.from(id).toString('hex').padEnd(64, '0') });
    log.write(accountStream(id), encodeEvents([opened, key], recordingBy('test', NOW)));
    await catchUpAccount(log, accounts, id);
    for (const command of [save, configure])
      await executeOnRepository(log, accounts, id, command, await actorOf(command), recordingBy('test', NOW));
  }
  made.mayWrite = true;
  const spend = (id: AccountId) =>
    executeOnRepository(log, accounts, id, record(usageOf(1, 1_000)), SYSTEM, recordingBy('test', NOW));
  return { made, ids, upkeep, asked, spend, letAll: () => letAll(WAITS) };
}

const WAITS: PaymentOutcome = { type: 'waits', url: null };

it('so many are asked of at once, fewer by the clock alone, and those that somebody waits for come first', async () => {
  const { paymentsAtOnceMax, paymentLooksAtOnceMax } = LIMITS;
  const { ids, upkeep, asked, spend, letAll } = await manyScene(2 * paymentsAtOnceMax + 1);
  const looked = upkeep.look();
  for (let turns = 0; turns < 10; turns++) await nextTurn();
  expect(asked).toEqual(ids.slice(0, paymentLooksAtOnceMax));
  const others = ids.slice(paymentsAtOnceMax);
  const left = paymentsAtOnceMax - paymentLooksAtOnceMax;
  for (const id of others.slice(0, left)) upkeep.lookAt(id);
  await spend(ids[paymentLooksAtOnceMax] ?? ACCOUNT);
  for (const id of others.slice(left)) upkeep.lookAt(id);
  for (let turns = 0; turns < 10; turns++) await nextTurn();
  expect(asked.slice(paymentLooksAtOnceMax)).toEqual(others.slice(0, left));
  letAll();
  await looked;
  await upkeep.whenIdle();
  const byTheClock = ids.slice(paymentLooksAtOnceMax, paymentsAtOnceMax);
  expect([...new Set(asked)].slice(paymentsAtOnceMax)).toEqual([...others.slice(left), ...byTheClock]);
});

it('all are looked at in several turns, so that requests go on meanwhile, and once however often it is time', async () => {
  const { paymentLooksPerTurn } = LIMITS;
  const { made, ids, upkeep, letAll } = await manyScene(3 * paymentLooksPerTurn + 1);
  letAll();
  await upkeep.look();
  const beganOfTurns: number[] = [];
  let isOver = false;
  made.began = 0;
  setImmediate(function count() {
    beganOfTurns.push(made.began);
    made.began = 0;
    if (!isOver) setImmediate(count);
  });
  await Promise.all([upkeep.look(), upkeep.look()]);
  isOver = true;
  beganOfTurns.push(made.began);
  expect(beganOfTurns.reduce((sum, began) => sum + began, 0)).toBe(ids.length);
  expect(Math.max(...beganOfTurns)).toBeLessThanOrEqual(paymentLooksPerTurn);
});

it('who asks as it ends is looked after all the same, at whatever step of it', async () => {
  const catalog = catalogOf(STARTER);
  const asking = { plan: 'starter', provider: 'stripe', catalog, reason: 'as asked for', by: 'operator', nowMs: NOW };
  for (let steps = 0; steps < 24; steps++) {
    const { run, asked, outcomes, made, upkeep } = await scene(catalog);
    await run({ type: 'ChangePlan', ...asking });
    outcomes.push({ ...paid('pi_1'), amount: STARTER.price } as PaymentOutcome);
    await upkeep.look();
    upkeep.lookAt(ACCOUNT);
    for (let step = 0; step < steps; step++) await null;
    made.nowMs = ms('2026-12-20T10:00:00.000Z');
    upkeep.lookAt(ACCOUNT);
    await upkeep.whenIdle();
    expect(asked.length, `${steps} steps`).toBe(2);
  }
});
