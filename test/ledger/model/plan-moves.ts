import fc from 'fast-check';
import { paymentId } from '../../../contracts/ids.ts';
import { openAttempts } from '../../../ledger/account/payments.ts';
import { catalogOf, OPEN_SOURCE, STARTER, TEAM } from '../../fixtures/ledger/example-plan-events.ts';
import { move } from './step.ts';

const DAY_MS = 86_400_000;
const OF = { provider: 'stripe', catalog: catalogOf(STARTER, TEAM, OPEN_SOURCE) } as const;

/** A plan, its periods and their payments: looked at as the gateway does it, by several at once, and after days away. */
export const planMoves = [
  move(
    2,
    'ask for a plan',
    { plan: fc.constantFrom(STARTER.id, TEAM.id, OPEN_SOURCE.id, 'none', 'unknown') },
    ({ plan }, { nowMs }) => [{ type: 'ChangePlan', plan, ...OF, reason: 'x', by: 'owner@example.com', nowMs }],
  ),
  move(
    6,
    'look at the plan',
    { times: fc.integer({ min: 1, max: 3 }), days: fc.nat({ max: 40 }) },
    function* ({ times, days }, account) {
      account.nowMs += days * DAY_MS;
      for (let time = 0; time < times; time++) yield { type: 'StartRenewal', ...OF, nowMs: account.nowMs };
    },
  ),
  move(6, 'pay for the plan', { isTwice: fc.boolean() }, function* ({ isTwice }, account) {
    const open = openAttempts(account.open.billing.payments).find(({ period }) => period !== null);
    if (open === undefined) return;
    const { attemptId, provider, price: amount } = open;
    const paid = { paymentId: paymentId(`pi_${attemptId}`), amount, paidAtMs: account.nowMs, nowMs: account.nowMs };
    for (let time = 0; time < (isTwice ? 2 : 1); time++) yield { type: 'RecordPayment', attemptId, provider, ...paid };
  }),
  move(1, 'end the plan', {}, (_, { nowMs }) => [{ type: 'EndPlan', nowMs }]),
];
