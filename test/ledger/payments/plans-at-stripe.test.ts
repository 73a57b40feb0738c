import fc from 'fast-check';
import pino from 'pino';
import { expect, it } from 'vitest';
import { catalogFileSchema } from '../../../contracts/catalog.ts';
import type { EventLog } from '../../../contracts/event-log.ts';
import type { AccountEvent } from '../../../contracts/events.ts';
import { attemptId, grantId } from '../../../contracts/ids.ts';
import { type Actor, SYSTEM } from '../../../contracts/permissions.ts';
import { catchUpAccount } from '../../../ledger/account/account-repository.ts';
import type { OpenAccount } from '../../../ledger/account/account-state.ts';
import type { AccountCommand, CommandRefusalCode } from '../../../ledger/account/commands.ts';
import { executeCommand } from '../../../ledger/account/execute-command.ts';
import { loadAccount, readAccountEvents } from '../../../ledger/account/load-account.ts';
import { allAttempts, openAttempts } from '../../../ledger/account/payments.ts';
import { describeFault } from '../../../ledger/audit/fault.ts';
import { LedgerAudit } from '../../../ledger/audit/ledger-audit.ts';
import { loadCatalog } from '../../../ledger/catalog/catalog-state.ts';
import { publishCatalog } from '../../../ledger/catalog/publish-catalog.ts';
import type { AskedPayment, PaymentProvider } from '../../../ledger/payments/payment-provider.ts';
import { pursuePayments } from '../../../ledger/payments/pursue-payments.ts';
import { commandOfOutcome } from '../../../ledger/payments/record-outcome.ts';
import { recordingBy } from '../../../ledger/recording-by.ts';
import { TIMING } from '../../../ledger/timing.ts';
import { AccountViews } from '../../../projections/account-views.ts';
import { PaymentWebhooks } from '../../../proxy/payment-webhooks.ts';
import { catalogEntry } from '../../fixtures/catalog-entry.ts';
import { ACCOUNT, usd } from '../../fixtures/ledger/example-account.ts';
import { MemoryEventLog } from '../../fixtures/ledger/memory-event-log.ts';
import { promptPause } from '../../fixtures/ledger/prompt-pauses.ts';
import { cardOf, NOTHING_SAVED, stripeScene } from '../../fixtures/stripe/stripe-example.ts';
import type { StripeFault } from '../../fixtures/stripe/stripe-server.ts';
import { act } from './people-at-stripe.ts';
import { scheduled } from './scheduled-bank.ts';

const HOUR_MS = 3_600_000;
const OPERATOR: Actor = { type: 'operator', name: 'test' };
const OWNER = 'owner@example.com';
const timing = { ...TIMING, pause: promptPause };
const PLANS = [
  { id: 'starter', label: 'Starter', price: '20.00', credits: '25.00' },
  { id: 'team', label: 'Team', price: '200.00', credits: '260.00', overdraft: '20.00', grace_days: 14 },
];

const FAULTS: readonly StripeFault[] = [
  ...(['none', 'none', 'none', 'none', 'unheard', 'unheard', 'away', 'broken', 'breaks'] as const),
  ...(['busy', 'under way', 'forbidden', 'invalid'] as const),
];
/** What two gateways do, whoever has the account, its operators, and people at Stripe. */
const WORK = [
  ...(['look', 'look', 'look', 'look at what is new', 'tell', 'tell'] as const),
  ...(['starter', 'team', 'team', 'none', 'end the plan', 'cancel', 'consent no more', 'consent'] as const),
  ...(['buy', 'buy', 'pay', 'pay', 'pay', 'spend', 'spend', 'refund', 'dispute', 'win'] as const),
  ...(['pm_ok', 'pm_ok', 'pm_declined', 'pm_lost', 'pm_absent'] as const),
] as const;
type Work = (typeof WORK)[number];
/** In each round, beside what else there is. */
const LOOKS = ['look', 'look'] as const;
/** The first plan is paid, or not. */
const FIRST = [[], 1] as const;
/** Then so many hours go by: Stripe forgets its keys after a day, and a plan's period is a month. */
const rounds = fc.array(
  fc.tuple(
    fc.array(fc.constantFrom(...WORK), { minLength: 2, maxLength: 7, size: 'max' }),
    fc.constantFrom(0, 0, 1, 25, 72, 31 * 24, 31 * 24, 100 * 24),
  ),
  { minLength: 1, maxLength: 5, size: 'max' },
);

/** What may be refused to people, as things are by then. */
const AS_THINGS_ARE: ReadonlySet<CommandRefusalCode> = new Set([
  ...(['attempt_open', 'plan_not_found', 'payment_method_declined', 'invalid_amount'] as const),
]);

/** An account of a ledger with plans, that has asked for one, reloads, and has a card. */
async function begun() {
  const { server, time, provider } = await stripeScene();
  const log = new MemoryEventLog();
  await publishCatalog(
    log,
    catalogFileSchema.parse({ models: [catalogEntry('opal')], plans: PLANS }),
    recordingBy('test', time.nowMs),
  );
  const catalog = await loadCatalog(log);
  /** No two at one instant. */
  const run = async (
    through: EventLog,
    command: (nowMs: number) => AccountCommand,
    actor: Actor = OPERATOR,
  ): Promise<void> => {
    const nowMs = ++time.nowMs;
    const result = await executeCommand(through, ACCOUNT, command(nowMs), actor, recordingBy('test', nowMs), {
      timing,
    });
    if (result.type === 'refused' && !AS_THINGS_ARE.has(result.code)) throw new Error(result.message);
  };
  const ask =
    (plan: string) =>
    (nowMs: number): AccountCommand => ({
      ...{ type: 'ChangePlan', plan, provider: provider.name, catalog, reason: 'asked', by: OWNER, nowMs },
    });
  const save =
    (card: string) =>
    (consentedAtMs: number): AccountCommand => ({
      ...{ type: 'SavePaymentMethod', ...cardOf(card), consentedAtMs, by: OWNER },
    });
  const reload =
    (isOn: boolean) =>
    (nowMs: number): AccountCommand => ({
      ...{ type: 'ConfigureAutoReload', threshold: usd(5_000_000), target: usd(20_000_000) },
      ...{ monthlyCap: usd(60_000_000), consentedAtMs: isOn ? nowMs : null, by: OWNER },
    });
  await run(log, (nowMs) => ({
    ...{ type: 'OpenAccount', accountId: ACCOUNT, kind: 'personal', email: OWNER, trial: usd(0) },
    ...{ trialGrantId: grantId('grant_trial'), nowMs },
  }));
  for (const command of [save('pm_ok'), ask('starter'), reload(true)]) await run(log, command);
  return { server, time, provider, log, catalog, run, ask, save, reload };
}

type Begun = Awaited<ReturnType<typeof begun>>;

async function stateOf(log: EventLog): Promise<OpenAccount> {
  const { state } = await loadAccount(log, ACCOUNT);
  if (state.type === 'unopened') throw new Error('it is open');
  return state;
}

/** A gateway: it knows of the account what it has folded, and folds as it begins to look, or is told something. */
function gateway({ log, catalog, time, provider, server }: Begun, through: EventLog, asked: PaymentProvider) {
  const accounts = new AccountViews();
  const common = { log: through, accounts, clock: () => time.nowMs };
  const webhooks = new PaymentWebhooks({
    ...{ ...common, product: 'gateway', provider, mayWrite: () => true, logger: pino({ level: 'silent' }) },
  });
  const hear = async (event: Parameters<typeof server.signed>[0]): Promise<number> => {
    const { body, signature } = server.signed(event);
    return (await webhooks.hear(Buffer.from(body), signature)).status;
  };
  return {
    look: async (asksOpen: boolean): Promise<void> => {
      await catchUpAccount(log, accounts, ACCOUNT);
      await pursuePayments(ACCOUNT, {
        ...{ ...common, provider: asked, catalog: () => catalog, asksOpen, timing },
        ...{ onUnknown: () => undefined, onRefused: () => undefined, onMoved: () => undefined },
      });
    },
    /** Some of the newest that Stripe tells of, the last first, one of them twice, and of the first ones again. */
    tell: async (): Promise<void> => {
      const newest = server.events.slice(-8).toReversed();
      for (const event of [...newest, ...newest.slice(0, 1), ...server.events.slice(0, 3)]) await hear(event);
    },
    hear,
  };
}

/** What it asks goes out when the scheduler lets it, and what it hears is heard so, too. */
function slowly(provider: PaymentProvider, scheduler: fc.Scheduler): PaymentProvider {
  const turn = () => scheduler.schedule(Promise.resolve());
  const asks = (word: 'ask' | 'withdraw') => async (one: AskedPayment) => {
    await turn();
    const answer = await provider[word](one).catch((error: unknown) => ({ type: 'thrown', error }) as const);
    await turn();
    if (answer.type === 'thrown') throw answer.error;
    return answer;
  };
  return { name: provider.name, ask: asks('ask'), withdraw: asks('withdraw') };
}

/** The newest payment that is open, as `gateway payment decline` ends it: at Stripe first, where what was paid by then counts. */
async function cancel({ log, provider, run }: Begun, through: EventLog): Promise<void> {
  const attempt = allAttempts((await stateOf(log)).billing.payments).findLast(({ state }) => state === 'open');
  if (attempt === undefined) return;
  const ended = attempt.kind === 'purchase' ? {} : ({ endedBy: 'operator' } as const);
  const asked = { accountId: ACCOUNT, attempt, ...NOTHING_SAVED, ...ended };
  const outcome = await provider.withdraw(asked).catch(() => null);
  if (outcome === null) return;
  const said = { attemptId: attempt.attemptId, provider: provider.name };
  const isOver = outcome.type === 'abandoned' || outcome.type === 'refused';
  const what = { attemptId: attempt.attemptId, reason: 'by an operator' };
  if (isOver && attempt.kind === 'purchase') await run(through, (nowMs) => ({ type: 'EndPurchase', ...what, nowMs }));
  else if (isOver) await run(through, (nowMs) => ({ type: 'AbandonPayment', ...what, ...ended, nowMs }));
  else if (outcome.type !== 'waits')
    await run(through, (nowMs) => commandOfOutcome(outcome, { ...said, nowMs }) as AccountCommand);
}

async function work(scene: Begun, what: Work, through: EventLog, one: ReturnType<typeof gateway>): Promise<void> {
  const { server, log, run, ask, save, reload } = scene;
  switch (what) {
    case 'look':
      return one.look(true);
    case 'look at what is new':
      return one.look(false);
    case 'tell':
      return one.tell();
    case 'starter':
    case 'team':
    case 'none':
      return run(through, ask(what));
    case 'end the plan':
      return run(through, (nowMs) => ({ type: 'EndPlan', reason: 'x', by: OWNER, nowMs }));
    case 'cancel':
      return cancel(scene, through);
    case 'buy':
      return run(through, (nowMs) => ({
        ...{ type: 'StartPurchase', attemptId: attemptId(`bought_${nowMs}`), provider: 'stripe', by: OWNER, nowMs },
        ...{ amount: usd(8_000_000), price: usd(8_000_000) },
      }));
    case 'spend': {
      const most = (await stateOf(log)).grants.toSorted((a, b) => Number(b.remaining - a.remaining))[0];
      if (most === undefined || most.remaining === 0n) return;
      return run(through, (nowMs) => ({
        ...{ type: 'RevokeGrant', revocationId: `spent_${nowMs}`, grantId: most.grantId, amount: null },
        ...{ cause: 'administration', paymentId: null, reason: 'as if it were spent', actor: 'test', nowMs },
      }));
    }
    case 'consent':
    case 'consent no more':
      return run(through, reload(what === 'consent'));
    case 'pm_ok':
    case 'pm_declined':
    case 'pm_lost':
    case 'pm_absent':
      return run(through, save(what), SYSTEM);
    default:
      return act(server, what);
  }
}

/** What the log says of money, against what Stripe has in its books. */
function expectSameBooks({ server }: Begun, events: readonly AccountEvent[]): void {
  const micro = (amount: unknown): bigint => BigInt(Number(amount)) * 10_000n;
  const atStripe = (object: string): string[] =>
    server.all(object).map((one) => `${String(one.payment_intent)} ${micro(one.amount)}`);
  const paid = events.flatMap(({ type, data }) => (type === 'PaymentSucceeded' ? [data] : []));
  expect(paid.map(({ paymentId, amount }) => `${paymentId} ${amount}`).toSorted()).toEqual(
    atStripe('charge').toSorted(),
  );
  const bought = events.flatMap(({ type, data }) =>
    type === 'CreditsGranted' && data.grantId.startsWith('payment_') ? [data.grantId] : [],
  );
  expect(bought.toSorted()).toEqual(paid.map(({ paymentId }) => `payment_${paymentId}`).toSorted());
  const back = events.flatMap(({ type, data }) =>
    type === 'PaymentRefunded' ? [`${data.paymentId} ${data.amount}`] : [],
  );
  expect(back.toSorted()).toEqual(atStripe('refund').toSorted());
  const disputed = events.flatMap(({ type, data }) =>
    type === 'PaymentDisputed' ? [`${data.paymentId} ${data.amount}`] : [],
  );
  expect(disputed.toSorted()).toEqual(atStripe('dispute').toSorted());
  const won = events.filter(({ type }) => type === 'DisputeClosed').length;
  expect(won).toBe(server.all('dispute').filter(({ status }) => status === 'won').length);
}

/** Of each plan's period the attempts that were paid, but for those that Stripe refused and has charged all the same: who asked meanwhile has. */
function periodsPaid(state: OpenAccount, events: readonly AccountEvent[]): string[] {
  const refused = new Set(
    events.flatMap(({ type, data }) =>
      type === 'PaymentAbandoned' && data.reason.startsWith('Stripe has refused') ? [data.attemptId] : [],
    ),
  );
  return allAttempts(state.billing.payments).flatMap(({ kind, state, period, attemptId }) =>
    kind === 'renewal' && state === 'paid' && period !== null && !refused.has(attemptId)
      ? [`${period.plan} ${new Date(period.startMs).toISOString()}`]
      : [],
  );
}

it('no interleaving of renewals, other plans, reloads and purchases with Stripe’s faults, declines, and messages twice and in any order, with refunds, disputes, an operator’s ends, and days away charges, grants or renews twice, loses money, or leaves anything open', async () => {
  const seen = { renewal: 0, upgrade: 0, reload: 0, purchase: 0 };
  await fc.assert(
    fc.asyncProperty(
      fc.scheduler(),
      fc.array(fc.constantFrom(...FAULTS), { maxLength: 12, size: 'max' }),
      rounds,
      async (scheduler, faults, all) => {
        const scene = await begun();
        const { server, time, provider, log } = scene;
        server.faults.push(...faults);
        const through = scheduled(log, scheduler);
        const gateways = [0, 1].map(() => gateway(scene, through, slowly(provider, scheduler)));
        for (const [works, hours] of [FIRST, ...all]) {
          const done = [...works, ...LOOKS].map(async (what, at) => {
            await scheduler.schedule(Promise.resolve());
            await work(scene, what, through, gateways[at % 2] as ReturnType<typeof gateway>);
          });
          await scheduler.waitFor(Promise.all(done));
          time.nowMs += hours * HOUR_MS;
        }

        // On a day without faults whoever is there next finishes it: a page that nobody has paid Stripe ends.
        server.faults.length = 0;
        const last = gateway(scene, log, provider);
        await last.look(true);
        for (const { id, status } of server.all('checkout.session')) if (status === 'open') server.expire(id);
        for (let times = 0; times < 2; times++) {
          time.nowMs += 30 * HOUR_MS;
          await last.look(true);
        }
        // None where Stripe was broken whenever it was asked to make something.
        for (const event of server.events) expect(await last.hear(event)).toBe(200);

        const events = await Array.fromAsync(readAccountEvents(log, ACCOUNT), ({ event }) => event);
        const state = await stateOf(log);
        expect(openAttempts(state.billing.payments)).toEqual([]);
        expectSameBooks(scene, events);
        const periods = periodsPaid(state, events);
        expect(periods).toEqual([...new Set(periods)]);
        const found: string[] = [];
        const audit = new LedgerAudit({ onFault: (fault) => found.push(describeFault(fault)) });
        for (const event of log.events) audit.take(event);
        audit.end();
        expect(found).toEqual([]);
        for (const { kind } of allAttempts(state.billing.payments)) seen[kind] += 1;
      },
    ),
    { numRuns: 50 },
  );
  // It is about all of them.
  for (const count of Object.values(seen)) expect(count).toBeGreaterThan(0);
});
