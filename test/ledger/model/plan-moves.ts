import fc from 'fast-check';
import { paymentId } from '../../../contracts/ids.ts';
import { microUsd } from '../../../contracts/money.ts';
import type { CommandOf } from '../../../ledger/account/commands.ts';
import { openAttempts } from '../../../ledger/account/payments.ts';
import type { PaymentAttempt } from '../../../ledger/account/payments-state.ts';
import { BIG, catalogOf, OPEN_SOURCE, STARTER, TEAM } from '../../fixtures/ledger/example-plan-events.ts';
import { endedBy } from './payment-moves.ts';
import type { RealAccount } from './real-account.ts';
import { type Move, move, oneOf } from './step.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const catalog = catalogOf(STARTER, TEAM, BIG, OPEN_SOURCE);
const SAID = { reason: 'x', by: 'owner@example.com' } as const;
/** An operator's word is an answer, also where it is none yet. */
const provider = fc.constantFrom('stripe', 'stripe', 'stripe', 'manual');
const plan = fc.constantFrom(STARTER.id, STARTER.id, TEAM.id, TEAM.id, BIG.id, OPEN_SOURCE.id, 'none', 'unknown');

/** A plan, its periods and their payments: looked at as the gateway does it, by several at once, and after days away. */
export const planMoves = [
  move(4, 'ask for a plan', { plan, provider, isPaid: fc.boolean() }, function* ({ plan, provider, isPaid }, account) {
    yield ask(plan, account, provider);
    const open = openOf(account);
    if (isPaid && open !== undefined) yield paymentOf(open, account);
  }),
  move(
    6,
    'look at the plan',
    { times: fc.integer({ min: 1, max: 3 }), days: fc.nat({ max: 40 }), provider },
    function* ({ times, days, provider }, account) {
      account.nowMs += days * DAY_MS;
      for (let time = 0; time < times; time++) yield look(account, provider);
    },
  ),
  move(6, 'pay for the plan', { isTwice: fc.boolean() }, function* ({ isTwice }, account) {
    const open = openOf(account);
    if (open === undefined) return;
    for (let time = 0; time < (isTwice ? 2 : 1); time++) yield paymentOf(open, account);
  }),
  move(
    3,
    'do not pay for the plan',
    {
      times: fc.integer({ min: 1, max: 5 }),
      how: fc.constantFrom('declined', 'declined', 'lost card', 'given up'),
      endedBy,
      days: fc.nat({ max: 6 }),
    },
    function* ({ times, how, endedBy: by, days }, account) {
      for (let time = 0; time < times; time++) {
        yield look(account, 'stripe');
        const attemptId = openOf(account)?.attemptId;
        if (attemptId === undefined) return;
        const { nowMs } = account;
        if (how === 'given up') yield { type: 'AbandonPayment', attemptId, reason: 'expired', ...by, nowMs };
        else yield { type: 'RecordPaymentFailure', attemptId, code: 'x', isTerminal: how === 'lost card', nowMs };
        account.nowMs += days * DAY_MS;
      }
    },
  ),
  move(
    3,
    'ask for a plan behind a decline, by a clock that is behind',
    { plan, provider, behindMs: fc.nat({ max: 6_000 }), how: fc.constantFrom('declined', 'given up', 'left'), endedBy },
    function* ({ plan, provider, behindMs, how, endedBy: by }, account) {
      yield look(account, 'stripe');
      const first = openOf(account)?.attemptId;
      const { nowMs } = account;
      const declined = { type: 'RecordPaymentFailure', code: 'x', isTerminal: false, nowMs } as const;
      if (first !== undefined) yield { ...declined, attemptId: first };
      yield ask(plan, { nowMs: nowMs - behindMs }, provider);
      const attemptId = openOf(account)?.attemptId;
      if (attemptId === undefined || how === 'left') return;
      if (how === 'declined') yield { ...declined, attemptId, isTerminal: behindMs % 2 === 0 };
      else yield { type: 'AbandonPayment', attemptId, reason: 'expired', ...by, nowMs };
    },
  ),
  move(
    3,
    'have another plan instead, and pay for the first one after all',
    { first: plan, second: plan, days: fc.constantFrom(0, 0, 31), isPaid: fc.boolean() },
    function* ({ first, second, days, isPaid }, account) {
      account.nowMs += days * DAY_MS;
      yield days === 0 ? ask(first, account) : look(account, 'stripe');
      const declined = openOf(account);
      if (declined === undefined) return;
      const { attemptId } = declined;
      yield { type: 'RecordPaymentFailure', attemptId, code: 'x', isTerminal: false, nowMs: account.nowMs };
      account.nowMs += 1;
      yield ask(second, account);
      const open = openOf(account);
      if (isPaid && open !== undefined) yield paymentOf(open, account);
      yield paymentOf(declined, account);
    },
  ),
  move(
    4,
    'go back to the plan while another’s period is begun',
    {
      other: fc.constantFrom(STARTER.id, TEAM.id, BIG.id),
      provider,
      how: fc.constantFrom('given up', 'declined', 'paid', 'open'),
      days: fc.nat({ max: 9 }),
      isPaid: fc.boolean(),
    },
    function* ({ other, provider, how, days, isPaid }, account) {
      const { plan } = account.open.billing;
      if (plan === null || plan.period === null || plan.plan === other) return;
      const { plan: own, period } = plan;
      // So shortly before its end that it begins then, whatever it costs.
      if (account.nowMs < period.endMs - 1_000) account.nowMs = period.endMs - 1_000;
      yield ask(other, account, provider);
      account.nowMs += 2_000;
      yield look(account, provider);
      const open = openOf(account);
      yield ask(own, account, provider);
      if (open === undefined) return;
      const { attemptId } = open;
      account.nowMs += days * DAY_MS;
      yield look(account, provider);
      const { nowMs } = account;
      if (how === 'paid') yield paymentOf(open, account);
      if (how === 'declined') yield { type: 'RecordPaymentFailure', attemptId, code: 'x', isTerminal: false, nowMs };
      if (how === 'given up') yield { type: 'AbandonPayment', attemptId, reason: 'withdrawn', nowMs };
      yield look(account, provider);
      const again = openOf(account);
      if (isPaid && again !== undefined) yield paymentOf(again, account);
    },
  ),
  move(2, 'pay for the plan after all', { which: fc.nat({ max: 1_000 }) }, ({ which }, account) => {
    const attempt = oneOf(ofPlans(account).toReversed(), which);
    return attempt === undefined ? [] : [paymentOf(attempt, account)];
  }),
  move(1, 'suspend for days', { days: fc.nat({ max: 40 }) }, function* ({ days }, account) {
    if (account.open.suspended !== null) return;
    yield { type: 'SuspendAccount', reason: 'x' };
    account.nowMs += days * DAY_MS;
    yield look(account, 'stripe');
    yield { type: 'ReinstateAccount', reason: 'x' };
  }),
  move(2, 'decline, and save another card', { days: fc.nat({ max: 2 }) }, function* ({ days }, account) {
    const attemptId = openOf(account)?.attemptId;
    if (attemptId === undefined) return;
    yield { type: 'RecordPaymentFailure', attemptId, code: 'x', isTerminal: true, nowMs: account.nowMs };
    account.nowMs += days * DAY_MS;
    yield save(account);
    yield look(account, 'stripe');
  }),
  move(
    3,
    'save another card while one is charged, and be told then what became of that',
    {
      days: fc.constantFrom(0, 1, 9),
      isTerminal: fc.boolean(),
      isGivenUp: fc.constantFrom(false, false, true),
      endedBy,
    },
    function* ({ days, isTerminal, isGivenUp, endedBy: by }, account) {
      if (openOf(account) === undefined) yield save(account);
      yield look(account, 'stripe');
      const attemptId = openOf(account)?.attemptId;
      if (attemptId === undefined) return;
      yield save(account);
      account.nowMs += days * DAY_MS;
      const { nowMs } = account;
      if (isGivenUp) yield { type: 'AbandonPayment', attemptId, reason: 'expired', ...by, nowMs };
      else yield { type: 'RecordPaymentFailure', attemptId, code: 'x', isTerminal, nowMs };
      yield look(account, 'stripe');
    },
  ),
  move(
    1,
    'ask for a plan again and again with a card that is declined each time',
    { plan, times: fc.integer({ min: 1, max: 18 }), isTerminal: fc.boolean(), hours: fc.constantFrom(0, 1, 50) },
    function* ({ plan, times, isTerminal, hours }, account) {
      yield save(account);
      for (let time = 0; time < times; time++) {
        yield ask(plan, account);
        const attemptId = openOf(account)?.attemptId;
        if (attemptId === undefined) return;
        yield { type: 'RecordPaymentFailure', attemptId, code: 'x', isTerminal, nowMs: account.nowMs };
        account.nowMs += hours * HOUR_MS + 1;
      }
    },
  ),
  move(
    2,
    'decline a dearer plan for good, charge that card for the next period, and ask for one again',
    { plan, isPaid: fc.boolean(), isTerminal: fc.boolean() },
    function* ({ plan, isPaid, isTerminal }, account) {
      yield ask('team', account);
      const dearer = openOf(account)?.attemptId;
      if (dearer === undefined) return;
      yield { type: 'RecordPaymentFailure', attemptId: dearer, code: 'x', isTerminal, nowMs: account.nowMs };
      account.nowMs += 31 * DAY_MS;
      yield look(account, 'stripe');
      const next = openOf(account);
      if (next === undefined) return;
      yield isPaid
        ? paymentOf(next, account)
        : { type: 'RecordPaymentFailure', attemptId: next.attemptId, code: 'x', isTerminal, nowMs: account.nowMs };
      account.nowMs += DAY_MS;
      yield ask(plan, account);
    },
  ),
  move(
    2,
    'be declined for good beside a dearer plan that was paid before, or since, is told of that then, and ask again',
    { isSince: fc.boolean() },
    function* ({ isSince }, account) {
      const { plan } = account.open.billing;
      if (plan === null || plan.period === null || openOf(account) !== undefined) return;
      yield save(account);
      yield ask(BIG.id, account);
      const dearer = openOf(account);
      account.nowMs = Math.max(account.nowMs, plan.period.endMs);
      yield look(account, 'stripe');
      const renewal = ofPlans(account).findLast((one) => one.kind === 'renewal' && one.state === 'open');
      if (dearer?.kind !== 'upgrade' || renewal === undefined) return;
      const { attemptId, startedAtMs } = renewal;
      yield { type: 'RecordPaymentFailure', attemptId, code: 'x', isTerminal: true, nowMs: account.nowMs };
      account.nowMs += 3 * HOUR_MS;
      yield { ...paymentOf(dearer, account), paidAtMs: startedAtMs + (isSince ? HOUR_MS : -HOUR_MS) };
      yield ask(plan.plan, account);
    },
  ),
  move(
    2,
    'decline a dearer plan on and on, and then the renewal',
    { times: fc.integer({ min: 12, max: 16 }) },
    function* ({ times }, account) {
      const { plan } = account.open.billing;
      if (plan === null || plan.period === null || openOf(account) !== undefined) return;
      const { endMs } = plan.period;
      account.nowMs = Math.max(account.nowMs, endMs - DAY_MS);
      yield save(account);
      for (let time = 0; time < times; time++) {
        yield ask(BIG.id, account);
        yield* declinedOnce(account);
        account.nowMs += 1;
      }
      account.nowMs = Math.max(account.nowMs, endMs);
      for (let time = 0; time < 2; time++) {
        yield look(account, 'stripe');
        yield* declinedOnce(account);
        account.nowMs += 5 * DAY_MS;
      }
    },
  ),
  move(
    2,
    'be told of declines of a card that was saved once, and of one of the saved one',
    { times: fc.integer({ min: 1, max: 11 }), isTerminal: fc.boolean(), days: fc.constantFrom(0, 0, 1, 5) },
    function* ({ times, isTerminal, days }, account) {
      yield save(account);
      const declined = { type: 'RecordPaymentFailure', code: 'x', isTerminal, declinedMethodId: 'pm_once' } as const;
      for (let time = 0; time < times; time++) {
        yield look(account, 'stripe');
        const attemptId = openOf(account)?.attemptId;
        if (attemptId === undefined) return;
        yield { ...declined, attemptId, nowMs: account.nowMs };
        account.nowMs += days * DAY_MS + 1;
      }
      yield look(account, 'stripe');
      yield* declinedOnce(account);
    },
  ),
  move(
    4,
    'have what was paid for a plan go back, some of it come again, and look at it, or ask for one',
    {
      how: fc.constantFrom('refunded', 'in halves', 'disputed', 'lost', 'a part'),
      isHereAgain: fc.constantFrom(false, false, true),
      dearer: fc.boolean(),
      days: fc.constantFrom(0, 0, 9, 31),
      plan,
      provider,
    },
    function* ({ how, isHereAgain, dearer, days, plan, provider }, account) {
      const paid = ofPlans(account).findLast(({ kind, state }) => kind === 'renewal' && state === 'paid');
      if (paid === undefined || paid.paymentId === null) return;
      if (dearer) yield ask(BIG.id, account, provider);
      const [first, second] = [`back${account.next()}`, `back${account.next()}`];
      const said = { paymentId: paid.paymentId, reason: 'x', actor: SAID.by };
      const half = microUsd(paid.price / 2n);
      const { nowMs } = account;
      const refund = { type: 'RecordRefund', ...said, refundedAtMs: nowMs, nowMs } as const;
      const isDispute = how === 'disputed' || how === 'lost';
      if (isDispute)
        yield { type: 'RecordDispute', ...said, disputeId: first, amount: paid.price, openedAtMs: nowMs, nowMs };
      else yield { ...refund, refundId: first, amount: how === 'refunded' ? paid.price : half };
      if (how === 'in halves') yield { ...refund, refundId: second, amount: microUsd(paid.price - half) };
      const closed = { type: 'CloseDispute', ...said, disputeId: first } as const;
      if (how === 'lost') yield { ...closed, outcome: 'lost', closedAtMs: nowMs, nowMs };
      account.nowMs += days * DAY_MS;
      if (isHereAgain)
        yield isDispute
          ? { ...closed, outcome: 'won', closedAtMs: account.nowMs, nowMs: account.nowMs }
          : { type: 'WithdrawRefund', ...said, refundId: first, nowMs: account.nowMs };
      yield look(account, provider);
      yield ask(plan, account, provider);
    },
  ),
  move(1, 'end the plan', {}, (_, { nowMs }) => [{ type: 'EndPlan', ...SAID, nowMs }]),
];

/** Over a month's end it is of the month in which it was made. */
export const latePlanPayment = move(
  6,
  'pay for the plan, and be told of it days later',
  { days: fc.nat({ max: 9 }), atEnd: fc.boolean() },
  function* ({ days, atEnd }, account) {
    const end = account.open.billing.plan?.period?.endMs ?? 0;
    if (atEnd) account.nowMs = Math.max(account.nowMs, end);
    yield look(account, 'stripe');
    const [open, paidAtMs] = [openOf(account), account.nowMs];
    account.nowMs += days * DAY_MS;
    if (open !== undefined) yield { ...paymentOf(open, account), paidAtMs };
  },
);

/** A plan whose first period is paid, at once: without an allowance, or with one. */
export const firstPlan = fc.constantFrom(STARTER.id, TEAM.id).map(
  (plan): Move => ({
    name: 'have a plan',
    of: { plan },
    commands: function* (account) {
      yield ask(plan, account);
      const open = openOf(account);
      if (open !== undefined) yield paymentOf(open, account);
    },
  }),
);

const ofPlans = ({ attempts }: RealAccount): PaymentAttempt[] => attempts.filter(({ period }) => period !== null);
const openOf = ({ open }: RealAccount): PaymentAttempt | undefined =>
  openAttempts(open.billing.payments).find(({ period }) => period !== null);

function* declinedOnce(account: RealAccount): Iterable<CommandOf<'RecordPaymentFailure'>> {
  const attemptId = openOf(account)?.attemptId;
  if (attemptId === undefined) return;
  yield { type: 'RecordPaymentFailure', attemptId, code: 'x', isTerminal: false, nowMs: account.nowMs };
}

function save(account: RealAccount): CommandOf<'SavePaymentMethod'> {
  const card = { customerId: 'cus', paymentMethodId: `pm_${account.next()}`, brand: 'visa', last4: '4242' };
  return { type: 'SavePaymentMethod', provider: 'stripe', ...card, consentedAtMs: account.nowMs, by: SAID.by };
}

const ask = (plan: string, { nowMs }: Pick<RealAccount, 'nowMs'>, provider = 'stripe'): CommandOf<'ChangePlan'> => ({
  ...{ type: 'ChangePlan', plan, catalog, provider, ...SAID, nowMs },
});

const look = ({ nowMs }: RealAccount, provider: string): CommandOf<'StartRenewal'> => ({
  ...{ type: 'StartRenewal', catalog, provider, nowMs },
});

function paymentOf({ attemptId, provider, price }: PaymentAttempt, { nowMs }: RealAccount): CommandOf<'RecordPayment'> {
  const payment = paymentId(`pi_${attemptId}`);
  return { type: 'RecordPayment', attemptId, provider, paymentId: payment, amount: price, paidAtMs: nowMs, nowMs };
}
