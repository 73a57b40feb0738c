import fc from 'fast-check';
import { expect, it } from 'vitest';
import { encodeEvents } from '../../../contracts/event-codec.ts';
import type { EventLog } from '../../../contracts/event-log.ts';
import type { AccountEvent } from '../../../contracts/events.ts';
import { accountStream, attemptId } from '../../../contracts/ids.ts';
import { SYSTEM } from '../../../contracts/permissions.ts';
import { catchUpAccount } from '../../../ledger/account/account-repository.ts';
import type { AccountCommand } from '../../../ledger/account/commands.ts';
import { executeCommand } from '../../../ledger/account/execute-command.ts';
import { loadAccount, readAccountEvents } from '../../../ledger/account/load-account.ts';
import { attemptOf, openAttempts } from '../../../ledger/account/payments.ts';
import { EMPTY_CATALOG } from '../../../ledger/catalog/catalog-state.ts';
import type { PaymentProvider } from '../../../ledger/payments/payment-provider.ts';
import { pursuePayments } from '../../../ledger/payments/pursue-payments.ts';
import { recordingBy } from '../../../ledger/recording-by.ts';
import { TIMING } from '../../../ledger/timing.ts';
import { AccountViews } from '../../../projections/account-views.ts';
import { given } from '../../fixtures/ledger/decider-specification.ts';
import { ACCOUNT, granted, keyIssued, ms, opened, usd } from '../../fixtures/ledger/example-account.ts';
import { MemoryEventLog } from '../../fixtures/ledger/memory-event-log.ts';
import { promptPause } from '../../fixtures/ledger/prompt-pauses.ts';
import { faultsOf } from '../audit/account-faults.ts';
import { ANSWERS, Answering, Bank, scheduled, slowly } from './scheduled-bank.ts';

const NOW = ms('2026-11-20T10:00:00.000Z');
const DAY_MS = 24 * 3_600_000;
const timing = { ...TIMING, pause: promptPause };

function life(): AccountEvent[] {
  const events = [opened, keyIssued(), granted('g', 1_000_000)];
  const commands: AccountCommand[] = [
    {
      ...{ type: 'SavePaymentMethod', provider: 'stripe', customerId: 'c', paymentMethodId: 'pm', brand: 'visa' },
      ...{ last4: '4242', consentedAtMs: NOW, by: 'owner@example.com' },
    },
    {
      ...{ type: 'ConfigureAutoReload', threshold: usd(5_000_000), target: usd(20_000_000) },
      ...{ monthlyCap: usd(60_000_000), consentedAtMs: NOW, by: 'owner@example.com' },
    },
    {
      ...{ type: 'StartPurchase', attemptId: attemptId('bought'), provider: 'stripe', amount: usd(1_000_000) },
      ...{ price: usd(900_000), by: 'owner@example.com', nowMs: NOW },
    },
  ];
  for (const command of commands) events.push(...given(...events).decided(command));
  return events;
}

/** What a provider tells by itself of each charge, twice, whoever has heard it before. */
async function told(log: EventLog, bank: Bank): Promise<void> {
  const { state } = await loadAccount(log, ACCOUNT);
  if (state.type === 'unopened') throw new Error('it is open');
  for (const [key, paid] of [...bank.charges, ...bank.charges]) {
    const price = attemptOf(state.billing.payments, key)?.price ?? usd(0);
    const command: AccountCommand = {
      ...{ type: 'RecordPayment', attemptId: attemptId(key), provider: 'stripe', paymentId: paid, amount: price },
      ...{ paidAtMs: NOW, nowMs: NOW },
    };
    const result = await executeCommand(log, ACCOUNT, command, SYSTEM, recordingBy('webhook', NOW), { timing });
    expect(result).toMatchObject({ type: 'done' });
  }
}

it('invariant 19: auto-reload: no interleaving of answers, lost answers, retries and processes charges or grants twice, loses a payment, or leaves one open', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.scheduler(),
      fc.array(fc.constantFrom(...ANSWERS), { maxLength: 10 }),
      fc.array(fc.constantFrom('pursue', 'told'), { minLength: 1, maxLength: 5 }),
      async (scheduler, answers, processes) => {
        const log = new MemoryEventLog();
        log.write(accountStream(ACCOUNT), encodeEvents(life(), recordingBy('test', NOW)));
        const bank = new Bank(answers);
        const pursue = async (through: EventLog, provider: PaymentProvider, nowMs: number): Promise<void> => {
          const accounts = new AccountViews();
          await catchUpAccount(log, accounts, ACCOUNT);
          await pursuePayments(ACCOUNT, {
            ...{ log: through, accounts, provider, clock: () => nowMs, asksOpen: true },
            catalog: () => EMPTY_CATALOG,
            ...{ onUnknown: () => undefined, onRefused: () => undefined, onMoved: () => undefined, timing },
          });
        };
        const slow = slowly(bank, scheduler);
        const work = processes.map((what) => {
          const through = scheduled(log, scheduler);
          if (what === 'pursue') return pursue(through, slow, NOW);
          return scheduler.schedule(Promise.resolve()).then(() => told(through, bank));
        });
        await scheduler.waitFor(Promise.all(work));
        // What is open still is asked for by whoever is there next.
        for (const days of [1, 2]) await pursue(log, new Answering(bank), NOW + days * DAY_MS);

        const events = await Array.fromAsync(readAccountEvents(log, ACCOUNT), ({ event }) => event);
        const { state } = await loadAccount(log, ACCOUNT);
        if (state.type === 'unopened') throw new Error('it is open');
        expect(openAttempts(state.billing.payments)).toEqual([]);
        const grants = events.flatMap(({ type, data }) => (type === 'CreditsGranted' ? [data.grantId] : []));
        const charged = [...bank.charges.values()].map((id) => `payment_${id}`);
        expect(grants.filter((id) => id.startsWith('payment_')).toSorted()).toEqual(charged.toSorted());
        const reloads = events.filter(({ type }) => type === 'AutoReloadStarted');
        expect([...bank.charges.keys()].filter((key) => key !== 'bought').length).toBeLessThanOrEqual(reloads.length);
        expect(faultsOf(events)).toEqual([]);
      },
    ),
    { numRuns: 150 },
  );
});
