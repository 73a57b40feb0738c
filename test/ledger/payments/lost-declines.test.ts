import { expect, it } from 'vitest';
import { catalogFileSchema } from '../../../contracts/catalog.ts';
import { type Forms, OWN_FORMS } from '../../../contracts/event-forms.ts';
import type { EventLog } from '../../../contracts/event-log.ts';
import type { AccountEvent, EventData } from '../../../contracts/events.ts';
import { attemptId, grantId, NO_STREAM, revision } from '../../../contracts/ids.ts';
import { type Actor, SYSTEM } from '../../../contracts/permissions.ts';
import { catchUpAccount } from '../../../ledger/account/account-repository.ts';
import type { AccountCommand } from '../../../ledger/account/commands.ts';
import { executeCommand } from '../../../ledger/account/execute-command.ts';
import { readAccountEvents } from '../../../ledger/account/load-account.ts';
import { describeFault } from '../../../ledger/audit/fault.ts';
import { LedgerAudit } from '../../../ledger/audit/ledger-audit.ts';
import { loadCatalog } from '../../../ledger/catalog/catalog-state.ts';
import { publishCatalog } from '../../../ledger/catalog/publish-catalog.ts';
import { adoptForms } from '../../../ledger/forms/adopt-forms.ts';
import { inAdoptedForms } from '../../../ledger/forms/in-adopted-forms.ts';
import { pursuePayments } from '../../../ledger/payments/pursue-payments.ts';
import { recordingBy } from '../../../ledger/recording-by.ts';
import { AccountViews } from '../../../projections/account-views.ts';
import { catalogEntry } from '../../fixtures/catalog-entry.ts';
import { ACCOUNT, usd } from '../../fixtures/ledger/example-account.ts';
import { MemoryEventLog } from '../../fixtures/ledger/memory-event-log.ts';
import { cardOf, stripeScene } from '../../fixtures/stripe/stripe-example.ts';

const DAY_MS = 86_400_000;
const OPERATOR: Actor = { type: 'operator', name: 'test' };
const BY = { by: 'owner@example.com' } as const;
const PLANS = [{ id: 'starter', label: 'Starter', price: '20.00', credits: '25.00', grace_days: 14 }];

/** A ledger with an account whose first period of a plan is paid, and what is done with it as its clock goes on. */
async function begun() {
  const { server, time, provider } = await stripeScene();
  const log = new MemoryEventLog();
  const recording = () => recordingBy('test', time.nowMs);
  await publishCatalog(log, catalogFileSchema.parse({ models: [catalogEntry('opal')], plans: PLANS }), recording());
  const catalog = await loadCatalog(log);
  const on = (of: MemoryEventLog, to: EventLog = of) => {
    const run = async (command: (nowMs: number) => AccountCommand, actor: Actor = OPERATOR): Promise<void> => {
      const result = await executeCommand(to, ACCOUNT, command(++time.nowMs), actor, recording());
      if (result.type === 'refused') throw new Error(result.message);
    };
    const events = (): Promise<AccountEvent[]> => Array.fromAsync(readAccountEvents(of, ACCOUNT), ({ event }) => event);
    return {
      run,
      save: (card: string) =>
        run((consentedAtMs) => ({ type: 'SavePaymentMethod', ...cardOf(card), consentedAtMs, ...BY })),
      asks: () =>
        run((nowMs) => ({
          type: 'ChangePlan',
          plan: 'starter',
          provider: 'stripe',
          catalog,
          reason: 'x',
          ...BY,
          nowMs,
        })),
      /** A gateway's, as often, a second apart. */
      looks: async (times = 1): Promise<void> => {
        for (let turn = 0; turn < times; turn++) {
          time.nowMs += 1_000;
          const accounts = new AccountViews();
          await catchUpAccount(of, accounts, ACCOUNT);
          const unexpected = (error: unknown): never => {
            throw error;
          };
          await pursuePayments(ACCOUNT, {
            ...{ log: to, accounts, provider, catalog: () => catalog, clock: () => time.nowMs, asksOpen: true },
            ...{ onUnknown: unexpected, onRefused: unexpected, onMoved: () => undefined },
          });
        }
      },
      told: async <T extends AccountEvent['type']>(type: T): Promise<EventData<T>[]> =>
        (await events()).flatMap((event) => (event.type === type ? [event.data as EventData<T>] : [])),
      faults: (): string[] => {
        const found: string[] = [];
        const audit = new LedgerAudit({ onFault: (fault) => found.push(describeFault(fault)) });
        for (const event of of.events) audit.take(event);
        audit.end();
        return found;
      },
    };
  };
  const first = on(log);
  await first.run((nowMs) => ({
    ...{ type: 'OpenAccount', accountId: ACCOUNT, kind: 'personal', email: BY.by, trial: usd(0) },
    ...{ trialGrantId: grantId('grant_trial'), nowMs },
  }));
  await first.save('pm_ok');
  await first.asks();
  await first.looks();
  const [paid] = await first.told('RenewalStarted');
  return {
    ...{ server, time, first, endMs: Date.parse(paid?.periodEnd ?? '') },
    /** What the log has by now, as it is put back later. */
    backup: async (forms?: Forms) => {
      const copy = new MemoryEventLog();
      const revisions = new Map<string, number>();
      for (const event of [...log.events]) {
        const { stream, id, type, data, metadata } = event;
        const last = revisions.get(stream);
        await copy.append(stream, last === undefined ? NO_STREAM : revision(last), [{ id, type, data, metadata }]);
        revisions.set(stream, (last ?? -1) + 1);
      }
      if (forms === undefined) return on(copy);
      await adoptForms(copy, { forms, without: [], reason: 'x', recording: recording() });
      return on(copy, inAdoptedForms(copy, { passedMs: () => 0 }));
    },
    charges: () => server.all('charge').length,
  };
}

it.each([
  [1, [0]],
  [4, [0, 1, 3, 7]],
] as const)(
  '%i declines of another card, in the lost part, keep the saved one waiting for as many looks alone',
  async (count, days) => {
    const { server, time, first, endMs, backup, charges } = await begun();
    const restored = await backup();
    await first.save('pm_declined');
    for (const day of days) {
      time.nowMs = endMs + day * DAY_MS + 60_000;
      await first.looks();
    }
    expect(await first.told('PaymentFailed')).toHaveLength(count);
    time.nowMs = endMs + 8 * DAY_MS;
    await restored.save('pm_new');
    await restored.looks(count);
    const declines = await restored.told('PaymentFailed');
    expect(declines).toHaveLength(count);
    for (const { code, declinedMethodId, failedAt, nextAttemptAt } of declines)
      expect({ code, declinedMethodId, nextAttemptAt }).toEqual({
        ...{ code: 'insufficient_funds', declinedMethodId: 'pm_declined', nextAttemptAt: failedAt },
      });
    expect(charges()).toBe(1);
    await restored.looks(3);
    expect(charges()).toBe(2);
    expect(await restored.told('PaymentSucceeded')).toHaveLength(2);
    expect(server.all('payment_intent')).toHaveLength(count + 2);
    expect(await restored.told('PlanEnded')).toEqual([]);
    expect(restored.faults()).toEqual([]);
  },
);

it('while an older program serves the same ledger such a decline is given up, and the saved card charged a day later', async () => {
  const { time, first, endMs, backup, charges } = await begun();
  const restored = await backup({ ...OWN_FORMS, PaymentFailed: 1 });
  await first.save('pm_declined');
  time.nowMs = endMs + 60_000;
  await first.looks();
  time.nowMs = endMs + DAY_MS;
  await restored.save('pm_new');
  await restored.looks(2);
  expect(await restored.told('PaymentAbandoned')).toMatchObject([{ endedBy: null }]);
  expect(charges()).toBe(1);
  time.nowMs += DAY_MS;
  await restored.looks(2);
  expect(charges()).toBe(2);
  expect(await restored.told('PaymentFailed')).toEqual([]);
});

it('of eight such declines each is behind the next at once, and each further one is given up and waits', async () => {
  const { time, first, endMs, backup, charges } = await begun();
  const restored = await backup();
  await first.save('pm_declined');
  time.nowMs = endMs + 60_000;
  for (let times = 0; times < 10; times++) {
    await first.asks();
    await first.looks();
  }
  expect(await first.told('PaymentFailed')).toHaveLength(10);
  time.nowMs = endMs + 2 * DAY_MS;
  await restored.save('pm_new');
  const counts = async () => [
    (await restored.told('PaymentFailed')).length,
    (await restored.told('PaymentAbandoned')).length,
  ];
  await restored.looks(12);
  expect(await counts()).toEqual([8, 1]);
  for (const given of [2, 2]) {
    time.nowMs += 4 * DAY_MS;
    await restored.looks(3);
    expect(await counts()).toEqual([8, given]);
  }
  expect(charges()).toBe(2);
  expect(await restored.told('PlanEnded')).toEqual([]);
  expect(restored.faults()).toEqual([]);
});

it('an auto-reload that was open, and declined with another card in the lost part, is begun again at once', async () => {
  const { time, first, backup, charges } = await begun();
  await first.run((nowMs) => ({
    ...{ type: 'ConfigureAutoReload', threshold: usd(30_000_000), target: usd(40_000_000) },
    ...{ monthlyCap: usd(60_000_000), consentedAtMs: nowMs, ...BY },
  }));
  const claim = { type: 'StartAutoReload', attemptId: attemptId('reload_1'), provider: 'stripe' } as const;
  await first.run((nowMs) => ({ ...claim, nowMs }), SYSTEM);
  const restored = await backup();
  await first.save('pm_lost');
  await first.looks();
  expect(await first.told('PaymentFailed')).toHaveLength(1);
  time.nowMs += 60_000;
  await restored.looks();
  expect(await restored.told('PaymentFailed')).toMatchObject([{ attemptId: 'reload_1', declinedMethodId: 'pm_lost' }]);
  expect(charges()).toBe(1);
  await restored.looks(2);
  expect(charges()).toBe(2);
  expect(await restored.told('AutoReloadPaused')).toEqual([]);
  expect(restored.faults()).toEqual([]);
});
