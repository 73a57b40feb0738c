import { expect, it } from 'vitest';
import type { AccountEvent } from '../../../../contracts/events.ts';
import { attemptId, paymentId } from '../../../../contracts/ids.ts';
import type { AccountCommand } from '../../../../ledger/account/commands.ts';
import { PlansHad } from '../../../../ledger/statement/plans-had.ts';
import { planInWords } from '../../../../proxy/program/accounts/plan-in-words.ts';
import { given } from '../../../fixtures/ledger/decider-specification.ts';
import { ms, openAccount, opened } from '../../../fixtures/ledger/example-account.ts';
import { catalogOf, STARTER, subscribed, TEAM } from '../../../fixtures/ledger/example-plan-events.ts';

const DAY_MS = 86_400_000;
const at = (nowMs: number) => ({ nowMs, seesPayments: true, endsNow: null });

function endsOf(life: readonly AccountEvent[]): PlansHad['ends'] {
  const plans = new PlansHad();
  for (const event of life) plans.take(event);
  return plans.ends;
}

it('a plan whose renewal was declined is shown with why, when it is tried again, until when, and what to do', () => {
  const life = [opened, ...subscribed('team', '2026-09-20T00:00:00.000Z')];
  const nowMs = ms('2026-10-20T00:00:00.000Z');
  expect(planInWords(openAccount(life), [], at(nowMs - 1))).toBe(
    'team, 2026-09-20T00:00:00.000Z to 2026-10-20T00:00:00.000Z, then renewed',
  );
  // Until a gateway has looked.
  const over = 'that is over: the next is due, and a gateway that runs begins it, as asking for the plan again does';
  const before = openAccount(life);
  expect(planInWords(before, [], at(nowMs - 1))).not.toContain(over);
  expect(planInWords(before, [], at(nowMs))).toMatch(new RegExp(`, then renewed; ${over}$`));
  expect(planInWords({ ...before, suspended: 'x' }, [], at(nowMs))).toMatch(/; that is over: .*while .* suspended$/);
  life.push(...given(...life).decided({ type: 'StartRenewal', provider: 'stripe', catalog: catalogOf(TEAM), nowMs }));
  const renewal = attemptId('renewal_2026-10-20T00:00:00.000Z');
  const declined = { attemptId: renewal, code: 'do_not_honor', isTerminal: false, nowMs };
  life.push(...given(...life).decided({ type: 'RecordPaymentFailure', ...declined }));
  const shown = (atMs: number) => planInWords(openAccount(life), [], at(atMs)).split('; ')[1];
  const next = 'save another payment method, ask for the plan again, or buy credits';
  const end = 'the plan ends unless it is paid by 2026-11-03T00:00:00.000Z';
  const why = 'the renewal of the plan team was declined (do_not_honor)';
  expect(shown(nowMs)).toBe(`${why}, it is tried again at 2026-10-21T00:00:00.000Z, and ${end}: ${next}`);
  expect(shown(nowMs + DAY_MS)).toBe(`${why}, ${end}: ${next}`);
  const endMs = ms('2026-11-03T00:00:00.000Z');
  expect(shown(endMs - 1)).toBe(`${why}, ${end}: ${next}`);
  expect(shown(endMs)).toBe(`${why}, the time to pay it was over at 2026-11-03T00:00:00.000Z: ${next}`);
});

it('a plan of a suspended account is shown with that no payment of it is begun, not with what would begin one', () => {
  const held = 'no payment is begun while the account is suspended';
  const [nowMs, dueMs] = [ms('2026-09-20T00:00:00.000Z'), ms('2026-10-20T00:00:00.000Z')];
  const suspendedFirst: AccountEvent[] = [opened, { type: 'AccountSuspended', data: { reason: 'fraud' } }];
  const asked = {
    type: 'ChangePlan',
    plan: 'team',
    provider: 'manual',
    catalog: catalogOf(TEAM),
    reason: 'x',
  } as const;
  const first = given(...suspendedFirst).decided({ ...asked, by: 'x', nowMs });
  expect(planInWords(openAccount([...suspendedFirst, ...first]), [], at(nowMs))).toBe(
    `trial; team once it is paid; ${held}`,
  );
  const life = [opened, ...subscribed('team', '2026-09-20T00:00:00.000Z')];
  const does = (command: AccountCommand): void => void life.push(...given(...life).decided(command));
  does({ type: 'StartRenewal', provider: 'stripe', catalog: catalogOf(TEAM), nowMs: dueMs });
  const suspended = () => planInWords({ ...openAccount(life), suspended: 'fraud' }, [], at(dueMs));
  expect(suspended()).toMatch(/is not paid yet, .*: pay for it, or buy credits$/);
  const renewal = attemptId('renewal_2026-10-20T00:00:00.000Z');
  does({ type: 'RecordPaymentFailure', attemptId: renewal, code: 'x', isTerminal: true, nowMs: dueMs });
  expect(suspended()).toMatch(
    new RegExp(`declined \\(x\\), the plan ends unless it is paid by [^:]*T[\\d:.]*Z, and ${held}$`),
  );
});

it('that the money of a plan went back is not shown to who may not see payments, beside what follows it either', () => {
  const life = [opened, ...subscribed('team', '2026-09-20T00:00:00.000Z')];
  const does = (command: AccountCommand): void => void life.push(...given(...life).decided(command));
  const nowMs = ms('2026-09-21T00:00:00.000Z');
  const asked = { type: 'ChangePlan', plan: 'starter', provider: 'manual', catalog: catalogOf(STARTER, TEAM) } as const;
  does({ ...asked, reason: 'x', by: 'x', nowMs });
  const [paid] = life.flatMap(({ type, data }) => (type === 'PaymentSucceeded' ? [data] : []));
  if (paid === undefined) throw new Error('nothing was paid');
  const said = { actor: 'x', reason: 'x', refundedAtMs: nowMs, nowMs };
  does({ type: 'RecordRefund', paymentId: paid.paymentId, refundId: 're_1', amount: paid.amount, ...said });
  const shown = (seesPayments: boolean) => planInWords(openAccount(life), [], { ...at(nowMs), seesPayments });
  expect(shown(true)).toMatch(/, then starter; what was paid for the plan team went back/);
  expect(shown(false)).toBe('team, 2026-09-20T00:00:00.000Z to 2026-10-20T00:00:00.000Z, then starter');
});

it.each([
  ['before its end is one whose payment was told after it', -DAY_MS, 'it was paid, which was told only after its end'],
  ['after it was not paid in time', DAY_MS, 'it was not paid in time'],
])('a plan that was paid %s', (_, afterEndMs, why) => {
  const life = [opened, ...subscribed('team', '2026-09-20T00:00:00.000Z')];
  const does = (command: AccountCommand): void => void life.push(...given(...life).decided(command));
  const [dueMs, endMs] = [ms('2026-10-20T00:00:00.000Z'), ms('2026-11-03T00:00:00.000Z')];
  const looks = { type: 'StartRenewal', provider: 'stripe', catalog: catalogOf(TEAM) } as const;
  does({ ...looks, nowMs: dueMs });
  const renewal = attemptId('renewal_2026-10-20T00:00:00.000Z');
  does({ type: 'RecordPaymentFailure', attemptId: renewal, code: 'do_not_honor', isTerminal: true, nowMs: dueMs });
  does({ ...looks, nowMs: endMs });
  const ended = 'none; team ended 2026-11-03T00:00:00.000Z: it was not paid in time';
  expect(planInWords(openAccount(life), endsOf(life), at(endMs))).toBe(ended);
  // On Stripe's own site somebody has tried another card.
  const paid = { provider: 'stripe', paymentId: paymentId('pi_late'), amount: TEAM.price };
  const nowMs = endMs + 2 * DAY_MS;
  does({ type: 'RecordPayment', attemptId: renewal, ...paid, paidAtMs: endMs + afterEndMs, nowMs });
  expect(planInWords(openAccount(life), endsOf(life), at(nowMs))).toBe(
    `none; team ended 2026-11-03T00:00:00.000Z: ${why}`,
  );
});
