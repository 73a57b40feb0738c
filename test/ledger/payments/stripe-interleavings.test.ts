import fc from 'fast-check';
import pino from 'pino';
import { expect, it } from 'vitest';
import { encodeEvents } from '../../../contracts/event-codec.ts';
import type { EventLog } from '../../../contracts/event-log.ts';
import type { AccountEvent } from '../../../contracts/events.ts';
import { accountStream, attemptId } from '../../../contracts/ids.ts';
import { catchUpAccount } from '../../../ledger/account/account-repository.ts';
import type { AccountCommand, CommandOf } from '../../../ledger/account/commands.ts';
import { executeCommand } from '../../../ledger/account/execute-command.ts';
import { loadAccount, readAccountEvents } from '../../../ledger/account/load-account.ts';
import { attemptOf, openAttempts } from '../../../ledger/account/payments.ts';
import { EMPTY_CATALOG } from '../../../ledger/catalog/catalog-state.ts';
import type { AskedPayment, PaymentProvider } from '../../../ledger/payments/payment-provider.ts';
import { pursuePayments } from '../../../ledger/payments/pursue-payments.ts';
import { commandOfOutcome } from '../../../ledger/payments/record-outcome.ts';
import { recordingBy } from '../../../ledger/recording-by.ts';
import { TIMING } from '../../../ledger/timing.ts';
import { AccountViews } from '../../../projections/account-views.ts';
import { PaymentWebhooks } from '../../../proxy/payment-webhooks.ts';
import { given } from '../../fixtures/ledger/decider-specification.ts';
import { ACCOUNT, granted, keyIssued, opened, usd } from '../../fixtures/ledger/example-account.ts';
import { MemoryEventLog } from '../../fixtures/ledger/memory-event-log.ts';
import { promptPause } from '../../fixtures/ledger/prompt-pauses.ts';
import { cardOf, NOTHING_SAVED, STARTED_MS, stripeScene } from '../../fixtures/stripe/stripe-example.ts';
import type { StripeFault, StripeServer } from '../../fixtures/stripe/stripe-server.ts';
import { faultsOf } from '../audit/account-faults.ts';
import { act } from './people-at-stripe.ts';

const HOUR_MS = 3_600_000;
const timing = { ...TIMING, pause: promptPause };
const FIRST = 1_000_000n;
const CENT = 10_000n;
const SAID = { consentedAtMs: STARTED_MS, by: 'owner@example.com' };

const CONFIGURE: CommandOf<'ConfigureAutoReload'> = {
  ...{ type: 'ConfigureAutoReload', threshold: usd(5_000_000), target: usd(20_000_000) },
  ...{ monthlyCap: usd(60_000_000), ...SAID },
};
const OPERATOR = { type: 'operator', name: 'test' } as const;

function life(): AccountEvent[] {
  const events = [opened, keyIssued(), granted('g', Number(FIRST))];
  const commands: AccountCommand[] = [
    { type: 'SavePaymentMethod', ...cardOf('pm_ok'), ...SAID },
    CONFIGURE,
    {
      ...{ type: 'StartPurchase', attemptId: attemptId('bought'), provider: 'stripe', amount: usd(8_000_000) },
      ...{ price: usd(8_000_000), by: 'owner@example.com', nowMs: STARTED_MS },
    },
  ];
  for (const command of commands) events.push(...given(...events).decided(command));
  return events;
}

/** The log as one process has it: each of its appends comes when the scheduler lets it. */
const scheduled = (log: MemoryEventLog, scheduler: fc.Scheduler): EventLog =>
  Object.assign(Object.create(log), {
    append: scheduler.scheduleFunction(log.append.bind(log)),
    readStream: log.readStream.bind(log),
  });

/** By Stripe's own books: what was charged, less what went back and what is disputed or lost. */
function owed(server: StripeServer): bigint {
  const sum = (object: string): bigint =>
    server.all(object).reduce((all, { amount }) => all + BigInt(Number(amount)), 0n);
  const won = server
    .all('dispute')
    .reduce((all, { status, amount }) => all + (status === 'won' ? BigInt(Number(amount)) : 0n), 0n);
  return CENT * (sum('charge') - sum('refund') - sum('dispute') + won);
}

const FAULTS: readonly StripeFault[] = [
  'none',
  'none',
  'breaks',
  'broken',
  'busy',
  'under way',
  'forbidden',
  'invalid',
];
const ENDS = ['consent no more', 'decline'] as const;
const WORK = ['pursue', 'pursue', 'pursue', 'tell', 'pay', 'refund', 'dispute', 'win', ...ENDS] as const;

it('no interleaving of Stripe’s answers, faults, messages in any order, refunds, disputes, and ends of what is open charges or grants twice, or loses money', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.scheduler(),
      fc.array(fc.constantFrom(...FAULTS), { maxLength: 6 }),
      fc.array(fc.constantFrom(...WORK), { minLength: 2, maxLength: 8 }),
      async (scheduler, faults, works) => {
        const { server, time, provider } = await stripeScene();
        const log = new MemoryEventLog();
        log.write(accountStream(ACCOUNT), encodeEvents(life(), recordingBy('test', STARTED_MS)));
        server.faults.push(...faults);
        const process = async (through: EventLog) => {
          const accounts = new AccountViews();
          await catchUpAccount(log, accounts, ACCOUNT);
          return { log: through, accounts, product: 'gateway', provider, clock: () => time.nowMs };
        };
        const pursue = async (through: EventLog, from: PaymentProvider = provider): Promise<void> =>
          pursuePayments(ACCOUNT, {
            ...{ ...(await process(through)), catalog: () => EMPTY_CATALOG, asksOpen: true, timing },
            ...{ provider: from, onUnknown: () => undefined, onRefused: () => undefined, onMoved: () => undefined },
          });
        /** What it asks goes out when the scheduler lets it: much may have happened since it was to be asked. */
        const ask = (word: 'ask' | 'withdraw') => async (one: AskedPayment) => {
          await scheduler.schedule(Promise.resolve());
          return provider[word](one);
        };
        const slowly: PaymentProvider = { name: provider.name, ask: ask('ask'), withdraw: ask('withdraw') };
        /** The newest first, and the oldest again. */
        const tell = async (through: EventLog): Promise<number[]> => {
          const logger = pino({ level: 'silent' });
          const webhooks = new PaymentWebhooks({ ...(await process(through)), mayWrite: () => true, logger });
          const answers: number[] = [];
          for (const event of [...server.events.toReversed(), ...server.events.slice(0, 3)]) {
            const { body, signature } = server.signed(event);
            answers.push((await webhooks.hear(Buffer.from(body), signature)).status);
          }
          return answers;
        };
        const run = async (through: EventLog, command: AccountCommand): Promise<void> => {
          const recording = recordingBy('test', time.nowMs);
          const result = await executeCommand(through, ACCOUNT, command, OPERATOR, recording, { timing });
          if (result.type === 'refused') throw new Error(result.message);
        };
        /** The purchase, as whoever says so knows it, at Stripe first. */
        const decline = async (through: EventLog): Promise<void> => {
          const { state } = await loadAccount(log, ACCOUNT);
          const attempt = state.type === 'open' ? attemptOf(state.billing.payments, 'bought') : undefined;
          if (attempt === undefined) throw new Error('nothing was bought');
          const outcome = await provider.withdraw({ accountId: ACCOUNT, attempt, ...NOTHING_SAVED }).catch(() => null);
          const said = { attemptId: attempt.attemptId, provider: provider.name, nowMs: time.nowMs };
          const command = outcome === null ? null : commandOfOutcome(outcome, said);
          if (command !== null) await run(through, command);
        };
        const work = works.map(async (what) => {
          const through = scheduled(log, scheduler);
          await scheduler.schedule(Promise.resolve());
          if (what === 'pursue') await pursue(through, slowly);
          else if (what === 'tell') await tell(through);
          else if (what === 'consent no more') await run(through, { ...CONFIGURE, consentedAtMs: null });
          else if (what === 'decline') await decline(through);
          else act(server, what);
        });
        await scheduler.waitFor(Promise.all(work));

        // On a day without faults whoever is there next finishes it: of a page that nobody has paid at Stripe ends it.
        server.faults.length = 0;
        await pursue(log);
        for (const { id, status } of server.all('checkout.session')) if (status === 'open') server.expire(id);
        time.nowMs += 30 * HOUR_MS;
        for (let times = 0; times < 2; times++) {
          await pursue(log);
          // None where Stripe was broken whenever it was asked to make something.
          expect((await tell(log)).filter((status) => status !== 200)).toEqual([]);
        }

        const events = await Array.fromAsync(readAccountEvents(log, ACCOUNT), ({ event }) => event);
        const { state } = await loadAccount(log, ACCOUNT);
        if (state.type === 'unopened') throw new Error('it is open');
        expect(openAttempts(state.billing.payments)).toEqual([]);
        const grants = events.flatMap(({ type, data }) => (type === 'CreditsGranted' ? [data.grantId] : []));
        const charged = server.all('charge').map(({ payment_intent: of }) => `payment_${String(of)}`);
        expect(grants.filter((id) => id.startsWith('payment_')).toSorted()).toEqual(charged.toSorted());
        expect(new Set(charged).size).toBe(charged.length);
        // What was given up stays so: nobody has charged it since. (Where Stripe refuses all that would use up its key, and then no more, who asked meanwhile has.)
        const paid = events.flatMap(({ type, data }) => (type === 'PaymentSucceeded' ? [data.attemptId] : []));
        const givenUp = events.flatMap(({ type, data }) =>
          type === 'PaymentAbandoned' && !data.reason.startsWith('Stripe has refused') ? [data.attemptId] : [],
        );
        expect(givenUp.filter((id) => paid.includes(id))).toEqual([]);
        expect(state.balance - state.uncovered).toBe(FIRST + owed(server));
        expect(faultsOf(events)).toEqual([]);
      },
    ),
    { numRuns: 40 },
  );
});
