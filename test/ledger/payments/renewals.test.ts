import fc from 'fast-check';
import { expect, it } from 'vitest';
import { catalogFileSchema } from '../../../contracts/catalog.ts';
import type { EventLog } from '../../../contracts/event-log.ts';
import type { AccountEvent } from '../../../contracts/events.ts';
import { grantId } from '../../../contracts/ids.ts';
import type { Actor } from '../../../contracts/permissions.ts';
import { catchUpAccount } from '../../../ledger/account/account-repository.ts';
import type { AccountCommand } from '../../../ledger/account/commands.ts';
import { executeCommand } from '../../../ledger/account/execute-command.ts';
import { loadAccount, readAccountEvents } from '../../../ledger/account/load-account.ts';
import { allAttempts, openAttempts } from '../../../ledger/account/payments.ts';
import { periodAt } from '../../../ledger/account/plan-periods.ts';
import { describeFault } from '../../../ledger/audit/fault.ts';
import { LedgerAudit } from '../../../ledger/audit/ledger-audit.ts';
import { loadCatalog } from '../../../ledger/catalog/catalog-state.ts';
import { publishCatalog } from '../../../ledger/catalog/publish-catalog.ts';
import type { PaymentProvider } from '../../../ledger/payments/payment-provider.ts';
import { pursuePayments } from '../../../ledger/payments/pursue-payments.ts';
import { recordingBy } from '../../../ledger/recording-by.ts';
import { TIMING } from '../../../ledger/timing.ts';
import { AccountViews } from '../../../projections/account-views.ts';
import { catalogEntry } from '../../fixtures/catalog-entry.ts';
import { ACCOUNT, ms, usd } from '../../fixtures/ledger/example-account.ts';
import { MemoryEventLog } from '../../fixtures/ledger/memory-event-log.ts';
import { promptPause } from '../../fixtures/ledger/prompt-pauses.ts';
import { ANSWERS, Answering, Bank, scheduled, slowly } from './scheduled-bank.ts';

const START = ms('2026-10-31T10:00:00.000Z');
const HOUR = 3_600_000;
const OPERATOR: Actor = { type: 'operator', name: 'test' };
const timing = { ...TIMING, pause: promptPause };
const PLANS = [
  { id: 'starter', label: 'Starter', price: '20.00', credits: '25.00' },
  { id: 'team', label: 'Team', price: '200.00', credits: '260.00', overdraft: '20.00', grace_days: 14 },
];

/** An account of a ledger with plans, which has asked for one. */
async function begun() {
  const log = new MemoryEventLog();
  const run = async (command: AccountCommand, nowMs: number): Promise<void> => {
    const result = await executeCommand(log, ACCOUNT, command, OPERATOR, recordingBy('test', nowMs), { timing });
    if (result.type === 'refused') throw new Error(result.message);
  };
  const file = catalogFileSchema.parse({ models: [catalogEntry('opal')], plans: PLANS });
  await publishCatalog(log, file, recordingBy('test', START));
  const catalog = await loadCatalog(log);
  const trial = { trial: usd(0), trialGrantId: grantId('grant_trial') };
  const opening = { accountId: ACCOUNT, kind: 'personal', email: 'owner@example.com', ...trial } as const;
  await run({ type: 'OpenAccount', ...opening, nowMs: START }, START);
  const changes = (plan: string, nowMs: number): Promise<void> =>
    run({ type: 'ChangePlan', plan, provider: 'stripe', catalog, reason: 'asked', by: 'test', nowMs }, nowMs);
  await changes('starter', START);
  const pursue = async (through: EventLog, provider: PaymentProvider, nowMs: number): Promise<void> => {
    const accounts = new AccountViews();
    await catchUpAccount(log, accounts, ACCOUNT);
    await pursuePayments(ACCOUNT, {
      ...{ log: through, accounts, provider, catalog: () => catalog, clock: () => nowMs, asksOpen: true },
      ...{ onUnknown: () => undefined, onRefused: () => undefined, onMoved: () => undefined, timing },
    });
  };
  return { log, pursue, changes };
}

function faultsIn({ events }: MemoryEventLog): string[] {
  const faults: string[] = [];
  const audit = new LedgerAudit({ onFault: (fault) => faults.push(describeFault(fault)) });
  for (const event of events) audit.take(event);
  audit.end();
  return faults;
}

/** Of the newest period: how each of its attempts has ended. */
function answersBefore(events: readonly AccountEvent[]): (string | undefined)[] {
  const claims = events.flatMap((one) =>
    one.type === 'RenewalStarted' && one.data.kind === 'renewal' ? one.data : [],
  );
  const newest = claims.at(-1)?.periodStart;
  return claims
    .filter(({ periodStart }) => periodStart === newest)
    .map(({ attemptId }) => events.findLast(({ data }) => 'attemptId' in data && data.attemptId === attemptId)?.type);
}

const wasAnswered = (ends: ReturnType<typeof answersBefore>): boolean =>
  ends.at(-1) === 'PaymentFailed' || (ends.length >= 4 && ends.at(-1) === 'PaymentAbandoned');

it('no interleaving of two renewers, of answers of the bank, of outages of any length, and of other plans renews twice, grants twice or loses a payment', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.scheduler(),
      fc.array(fc.constantFrom(...ANSWERS, 'gives up' as const), { maxLength: 12 }),
      // Between two looks, in hours: a day or two of working, days and months of outage.
      fc.array(
        fc.tuple(fc.constantFrom(1, 24, 72, 30 * 24, 100 * 24), fc.constantFrom(null, 'team', 'starter', 'none')),
        {
          minLength: 1,
          maxLength: 5,
        },
      ),
      async (scheduler, answers, looks) => {
        const { log, pursue, changes } = await begun();
        const bank = new Bank(answers);
        const slow = slowly(bank, scheduler);
        let nowMs = START;
        for (const [hours, plan] of looks) {
          const at = nowMs;
          const work = [0, 1].map(() => pursue(scheduled(log, scheduler), slow, at));
          await scheduler.waitFor(Promise.all(work));
          // Refused where a payment is open, or there is no plan.
          if (plan !== null) await changes(plan, at + HOUR / 2).catch(() => undefined);
          nowMs += hours * HOUR;
        }
        for (const days of [0, 1, 3]) await pursue(log, new Answering(bank), nowMs + days * 24 * HOUR);

        const events = await Array.fromAsync(readAccountEvents(log, ACCOUNT), ({ event }) => event);
        const { state } = await loadAccount(log, ACCOUNT);
        if (state.type === 'unopened') throw new Error('it is open');
        expect(openAttempts(state.billing.payments)).toEqual([]);
        const grants = events.flatMap(({ type, data }) => (type === 'CreditsGranted' ? [data.grantId] : []));
        expect(grants.toSorted()).toEqual([...bank.charges.values()].map((id) => `payment_${id}`).toSorted());
        // Each period is paid once by its renewal, whole periods follow one another, and each is one of the plan.
        const paid = allAttempts(state.billing.payments).filter((one) => one.state === 'paid');
        const renewals = paid.flatMap(({ kind, period }) => (kind === 'renewal' && period !== null ? [period] : []));
        const starts = renewals.map(({ startMs }) => startMs).toSorted((one, other) => one - other);
        expect(new Set(starts).size).toBe(starts.length);
        for (const { startMs, endMs } of renewals)
          if (startMs !== START && state.billing.plan?.anchorMs === START)
            expect(periodAt(START, startMs)).toEqual({ startMs, endMs });
        for (const [at, event] of events.entries())
          if (event.type === 'PlanEnded' && event.data.reason === 'unpaid')
            expect(answersBefore(events.slice(0, at))).toSatisfy(wasAnswered);
        expect(faultsIn(log)).toEqual([]);
      },
    ),
    { numRuns: 100 },
  );
});
