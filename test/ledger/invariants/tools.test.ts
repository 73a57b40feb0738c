import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { accountId, attemptId, grantId, paymentId, requestId } from '../../../contracts/ids.ts';
import { type MicroUsd, microUsd } from '../../../contracts/money.ts';
import type { AccountCommand } from '../../../ledger/account/commands.ts';
import { openAttempts } from '../../../ledger/account/payments.ts';
import { accountBooks } from '../../crash/audit/account-books.ts';
import { LIFE_PRICES } from '../../crash/audit/life-prices.ts';
import { beancountBalances, HAS_BEANCOUNT, HAS_HLEDGER, hledgerBalances, sumOf } from '../../fixtures/accountants.ts';
import { endedLater } from '../../fixtures/ended-later.ts';
import { usageOf } from '../../fixtures/ledger/example-account.ts';
import { catalogOf, STARTER, TEAM } from '../../fixtures/ledger/example-plan-events.ts';
import { MemoryEventLog } from '../../fixtures/ledger/memory-event-log.ts';
import { PRICE_CARD } from '../../fixtures/ledger/random-life.ts';
import { recordedLife } from '../../fixtures/ledger/recorded-life.ts';
import { programInProcess } from '../../fixtures/processes/program-in-process.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';
import { type Commands, histories, lived, monthlyPlanHistories, planHistories } from '../model/histories.ts';
import type { RealAccount } from '../model/real-account.ts';
import { sum, turnsOf } from './in-any-history.ts';
import { appendsOf, ledgers, livedTogether } from './several-accounts.ts';

const run = promisify(execFile);

it.each([
  ['of one proxy', histories],
  ['with plans', planHistories],
  ['with plans, whose months are closed', monthlyPlanHistories],
])('what verify looks at, the invariants among it, it finds no fault with in any history %s', (_name, all) => {
  fc.assert(
    fc.property(all, (commands: Commands) => {
      const stored = recordedLife(lived(commands).life).map((one) => ({
        ...{ ...one, data: JSON.parse(one.data), metadata: JSON.parse(one.metadata) },
      }));
      // Nothing has admitted these requests, nobody waits for them to end, and no catalog stands beside them.
      const isUnruly = (fault: string): boolean =>
        /: the balance falls to -| expired while it was under way|the catalog 1\b.* has none/.test(fault);
      expect(accountBooks('acme', stored, LIFE_PRICES).faults.filter((fault) => !isUnruly(fault))).toEqual([]);
    }),
    { numRuns: 150 },
  );
});

const SOLD = { catalog: catalogOf(STARTER, TEAM), provider: 'stripe' } as const;

/** A plan, and in the middle of its month a dearer one. */
function withPlans(account: RealAccount, done: (command: AccountCommand) => void): void {
  for (const plan of [STARTER.id, TEAM.id]) {
    done({ type: 'ChangePlan', plan, ...SOLD, reason: 'x', by: 'x', nowMs: account.nowMs });
    const [open] = openAttempts(account.open.billing.payments);
    if (open === undefined) throw new Error(`${plan} is not to be paid`);
    const { attemptId: id, provider, price: amount } = open;
    const paid = { paymentId: paymentId(`pi_${plan}`), amount, paidAtMs: account.nowMs, nowMs: account.nowMs };
    done({ type: 'RecordPayment', attemptId: id, provider, ...paid });
    account.nowMs += 12 * 86_400_000;
  }
}

/** One life that has everything: plans that are paid, changed and ended, a purchase refunded in part, disputes lost and won, each correction, an expiry, a statement. */
function withEverything(account: RealAccount): void {
  const done = (command: AccountCommand): void => {
    const { decision } = account.carryOut(command);
    if ('type' in decision) throw new Error(`${command.type}: ${decision.message}`);
    if (decision.length === 0) throw new Error(`${command.type} changed nothing`);
  };
  const usd = (amount: number): MicroUsd => microUsd(BigInt(amount));
  const said = () => ({ reason: 'x', actor: 'operator', nowMs: account.nowMs });
  for (const name of ['a', 'b', 'c']) {
    const { nowMs } = account;
    const attempt = { attemptId: attemptId(`attempt_${name}`), provider: 'stripe' };
    done({ type: 'StartPurchase', ...attempt, amount: usd(10_000), price: usd(9_000), by: 'x', nowMs });
    const paid = { paymentId: paymentId(`pi_${name}`), amount: usd(9_000), paidAtMs: nowMs };
    done({ type: 'RecordPayment', ...attempt, ...paid, nowMs });
  }
  withPlans(account, done);
  const { id, version, hash } = PRICE_CARD;
  const at = new Date(account.nowMs).toISOString();
  const number = account.next() * 16;
  const usage = usageOf(number, 500, { startedAt: at, finishedAt: at, rateCard: { id, version, hash } });
  done({ type: 'RecordUsage', usage, card: PRICE_CARD });
  const ofDispute = (name: string) => ({
    paymentId: paymentId(`pi_${name}`),
    disputeId: `dp_${name}`,
    actor: 'payments',
  });
  const { nowMs } = account;
  const refunded = { paymentId: paymentId('pi_a'), refundId: 're', amount: usd(2_000), refundedAtMs: nowMs };
  done({ type: 'RecordRefund', ...refunded, actor: 'payments', nowMs });
  for (const name of ['b', 'c'])
    done({ type: 'RecordDispute', ...ofDispute(name), amount: usd(9_000), openedAtMs: nowMs, nowMs });
  done({ type: 'CloseDispute', ...ofDispute('b'), outcome: 'lost', closedAtMs: nowMs, nowMs });
  done({ type: 'CloseDispute', ...ofDispute('c'), outcome: 'won', closedAtMs: nowMs, nowMs });
  const request = requestId(usage.requestId);
  for (const [part, amount] of [usd(4_000), null].entries()) {
    const debits = account.moneyOf(request);
    done({ type: 'ReverseDebit', reversalId: `r${part}`, requestId: request, amount, debits, ...said() });
  }
  done({ type: 'AdjustBalance', adjustmentId: grantId('up'), direction: 'up', amount: usd(70), ...said() });
  done({ type: 'AdjustBalance', adjustmentId: grantId('down'), direction: 'down', amount: usd(30), ...said() });
  const revoked = { revocationId: 'rv', grantId: grantId('up'), cause: 'fraud', paymentId: null } as const;
  done({ type: 'RevokeGrant', ...revoked, amount: usd(20), ...said() });
  done({ type: 'RestoreGrant', restorationId: 'rs', revocationId: 'rv', amount: usd(10), ...said() });
  account.nowMs += 40 * 86_400_000;
  done({ type: 'StartRenewal', ...SOLD, nowMs: account.nowMs });
  const renewal = openAttempts(account.open.billing.payments)[0]?.attemptId ?? attemptId('none');
  done({ type: 'RecordPaymentFailure', attemptId: renewal, code: 'x', isTerminal: true, nowMs: account.nowMs });
  done({ type: 'EndPlan', reason: 'x', by: 'x', nowMs: account.nowMs });
  done({ type: 'ExpireCredits', lateMs: 0, nowMs: account.nowMs });
  const trial = { grantId: grantId('trial'), amount: usd(5), expiresAtMs: account.nowMs + 1_000, lateMs: 0 };
  done({ type: 'ReinstateCredits', ...trial, ...said() });
  const month = account.months.firstUpTo('2028-01', null) ?? '';
  const { firstRevision, sums, later } = account.months.sumsOf(month);
  const range = { firstRevision: firstRevision ?? 0, lastRevision: account.life.length - 1 };
  const closing = { month, sums: sums as never, later, ...range, graceMs: 0 };
  done({ type: 'CloseStatement', ...closing, nowMs: account.nowMs });
}

describe('invariant 21: export: with every kind of event, and in any history', () => {
  /** Calls back with the file of each of some random ledgers, and what its accounts hold. */
  const exported = (
    format: string,
    more: readonly string[],
    check: (file: string, accounts: ReadonlyMap<string, RealAccount>) => Promise<void>,
  ) =>
    fc.assert(
      fc.asyncProperty(ledgers(6), ledgers(6, monthlyPlanHistories), async (all, overMonths) => {
        const accounts = livedTogether([...all, ...overMonths]);
        // Of accounts that are renewed months are closed.
        expect([...accounts.values()].filter(isRenewedAndClosed).length).toBeGreaterThan(0);
        const full = lived([], { accountId: accountId('acct_full'), firstNumber: 500_000 });
        withEverything(full);
        accounts.set(accountId('acct_full'), full);
        const log = new MemoryEventLog();
        for (const events of appendsOf(accounts)) log.write(events[0]?.stream ?? ('' as never), events);
        const file = join(temporaryFolder(), format);
        const program = endedLater(await programInProcess(log));
        await program.run('ledger', 'export', '--format', format, ...more, '--out', file);
        await check(file, accounts);
      }),
      { numRuns: 1, endOnFailure: true },
    );

  it.skipIf(!HAS_HLEDGER)('it passes hledger’s strict checks, and its balances are those of the accounts', () =>
    exported('hledger', [], async (file, accounts) => {
      await run('hledger', ['-f', file, 'check', '-s']);
      const balances = await hledgerBalances(file);
      for (const [id, { open }] of accounts)
        expect([
          id,
          -sumOf(balances, `Liabilities:Credits:${id}:`) - (balances.get(`Assets:Receivable:${id}`) ?? 0n),
        ]).toEqual([id, open.balance]);
      expect(sumOf(balances, '')).toBe(0n);
    }),
  );

  it.skipIf(!HAS_HLEDGER)('its money is what was paid and has not gone back', () =>
    exported('hledger', ['--account', 'acct_full'], async (file, accounts) => {
      const balances = await hledgerBalances(file);
      const money = sumOf(balances, 'Assets:Clearing:') + sumOf(balances, 'Assets:Disputes');
      const full = accounts.get('acct_full');
      expect(full && moneyOf(full)).toBe(money);
      expect(balances.get('Assets:Clearing:Plans')).toBe(full && paidForPlans(full));
    }),
  );

  it.skipIf(!HAS_BEANCOUNT)(
    'it passes bean-check with the pedantic plugin, and its balances are those of the accounts',
    () =>
      exported('beancount', [], async (file, accounts) => {
        const balanceOf = await beancountBalances(file);
        for (const [id, { open }] of accounts) expect([id, -balanceOf(id)]).toEqual([id, open.balance]);
      }),
  );
});

function isRenewedAndClosed(account: RealAccount): boolean {
  const closed = account.events.findLastIndex(({ type }) => type === 'StatementClosed');
  const turns = turnsOf({ events: account.events.slice(0, closed + 1) });
  return turns.filter((turn) => turn === 'renewal').length > 1;
}

/** What was paid for its plans' periods: more than nothing, as none of it went back. */
function paidForPlans({ attempts }: RealAccount): bigint {
  const paid = attempts.filter(({ state, period }) => state === 'paid' && period !== null);
  expect(paid.flatMap(({ refunds, disputes }) => [...refunds, ...disputes])).toEqual([]);
  expect(paid.map(({ kind }) => kind)).toEqual(['renewal', 'upgrade']);
  return sum(paid.map(({ price }) => price));
}

/** What was paid for an account's credits and has not gone back, in all or by a dispute that is not won. */
function moneyOf({ events }: RealAccount): bigint {
  const [disputed, won] = [new Map<string, bigint>(), new Set<string>()];
  let money = 0n;
  for (const { type, data } of events) {
    if (type === 'CreditsGranted' && !data.grantId.startsWith('payment_')) money += data.costBasis;
    if (type === 'PaymentSucceeded') money += data.amount;
    if (type === 'PaymentRefunded') money -= data.amount;
    if (type === 'RefundWithdrawn') money += data.amount;
    if (type === 'PaymentDisputed') disputed.set(data.disputeId, data.amount);
    if (type === 'DisputeClosed' && data.outcome === 'won') won.add(data.disputeId);
    if (type === 'DisputeClosed' && data.outcome === 'lost') won.delete(data.disputeId);
  }
  return money - sum([...disputed].flatMap(([id, amount]) => (won.has(id) ? [] : [amount])));
}
