import fc from 'fast-check';
import { attemptId, grantId, paymentId } from '../../../contracts/ids.ts';
import { microUsd } from '../../../contracts/money.ts';
import type { PaymentAttempt } from '../../../ledger/account/payments-state.ts';
import type { RealAccount } from './real-account.ts';
import { move, oneOf } from './step.ts';

const CENT = 10_000;
const which = fc.nat({ max: 1_000 });
/** How long ago it was paid, in ms: also before it was begun, or by a clock that is ahead. */
const toldAfter = fc.constantFrom(0, 60_000, 60_000, 5 * 3_600_000, 4 * 86_400_000, -60_000);
const isNew = fc.constantFrom(true, true, true, false);
const provider = fc.constantFrom('stripe', 'stripe', 'stripe', 'stripe', 'manual');
const ACTOR = { actor: 'payments' } as const;
const BY_HAND = { reason: 'told', actor: 'operator' } as const;
export const endedBy = fc.constantFrom({}, { endedBy: 'operator' as const });
/** How a dispute had ended as its provider was asked. */
const TOLD = [ACTOR, { ...ACTOR, stood: 'won' as const }, { ...ACTOR, stood: 'lost' as const }];
/** How a dispute is told to have ended, or not to have. */
const end = fc.constantFrom(null, 'won' as const, 'lost' as const);
/** A provider gives no reason. */
const isByHand = fc.constantFrom(true, true, false);
const BY = { by: 'owner@example.com' } as const;

const attemptsOf = ({ attempts }: RealAccount): PaymentAttempt[] => attempts;
/** The newest as often as all others together: it is what is open. */
const attemptOf = (account: RealAccount, at: number): PaymentAttempt | undefined =>
  at % 2 === 0 ? attemptsOf(account).at(-1) : oneOf(attemptsOf(account), at >> 1);
const unknown = attemptId('unknown');
/** Of which card it is, where that is another than it was begun with. */
const others = fc.constantFrom({}, {}, { declinedMethodId: 'pm_once' });

export const paymentMoves = [
  move(
    2,
    'buy and pay',
    { cents: fc.integer({ min: 1, max: 90 }), percent: fc.constantFrom(100, 90, 133) },
    (of, account) => {
      const id = attemptId(`attempt${account.next()}`);
      const amount = microUsd(BigInt(of.cents * CENT));
      const price = microUsd((amount * BigInt(of.percent)) / 100n);
      const what = { attemptId: id, provider: 'stripe' };
      const paid = { paymentId: paymentId(`pi_${id}`), amount: price, paidAtMs: account.nowMs };
      return [
        { type: 'StartPurchase', ...what, amount, price, ...BY, nowMs: account.nowMs },
        { type: 'RecordPayment', ...what, ...paid, nowMs: account.nowMs },
      ];
    },
  ),
  move(
    2,
    'buy',
    { which, isNew, cents: fc.nat({ max: 90 }), percent: fc.constantFrom(100, 100, 90, 133), provider },
    (of, account) => {
      const id = attemptId(of.isNew ? `attempt${account.next()}` : `attempt${of.which % 8}`);
      const amount = microUsd(BigInt(of.cents * CENT));
      const price = microUsd((amount * BigInt(of.percent)) / 100n);
      const what = { attemptId: id, provider: of.provider, amount, price };
      return [{ type: 'StartPurchase', ...what, ...BY, nowMs: account.nowMs }];
    },
  ),
  move(
    5,
    'pay',
    {
      which,
      isOwn: fc.constantFrom(true, true, true, true, true, false),
      provider,
      more: fc.constantFrom(0, 0, 0, 0, 1),
      agoMs: toldAfter,
    },
    (of, account) => {
      const attempt = attemptOf(account, of.which);
      if (attempt === undefined) return [];
      const own = attempt.paymentId ?? paymentId(`pi_${attempt.attemptId}`);
      const paid = of.isOwn ? own : paymentId(`pi_${attemptsOf(account)[0]?.attemptId}_other`);
      const what = { attemptId: attempt.attemptId, provider: of.provider, paymentId: paid };
      const amount = microUsd(attempt.price + BigInt(of.more));
      return [{ type: 'RecordPayment', ...what, amount, paidAtMs: account.nowMs - of.agoMs, nowMs: account.nowMs }];
    },
  ),
  move(3, 'fail', { which, isTerminal: fc.constantFrom(false, false, false, true), others }, (of, account) => {
    const attempt = attemptOf(account, of.which);
    const told = { attemptId: attempt?.attemptId ?? unknown, isTerminal: of.isTerminal, nowMs: account.nowMs };
    const code = of.isTerminal ? 'lost_card' : 'card_declined';
    return [{ type: 'RecordPaymentFailure', code, ...told, ...(attempt?.paymentMethodId ? of.others : {}) }];
  }),
  move(1, 'decline, and pay after all', { which, isTerminal: fc.boolean() }, ({ which, isTerminal }, account) => {
    const attempt = attemptOf(account, which);
    if (attempt === undefined) return [];
    const { attemptId: id, provider, price: amount } = attempt;
    const { nowMs } = account;
    return [
      { type: 'RecordPaymentFailure', attemptId: id, code: 'card_declined', isTerminal, nowMs },
      {
        ...{ type: 'RecordPayment', attemptId: id, provider, paymentId: attempt.paymentId ?? paymentId(`pi_${id}`) },
        ...{ amount, paidAtMs: nowMs, nowMs },
      },
    ];
  }),
  move(
    1,
    'decline, or give up, again and again',
    {
      tries: fc.array(fc.record({ provider, isGivenUp: fc.boolean(), endedBy, others }), {
        minLength: 2,
        maxLength: 6,
      }),
    },
    function* ({ tries }, account) {
      for (const { provider: taker, isGivenUp, endedBy: by, others: of } of tries) {
        const { nowMs } = account;
        const id = attemptId(`reload${account.next()}`);
        yield { type: 'StartAutoReload', attemptId: id, provider: taker, nowMs };
        yield isGivenUp
          ? { type: 'AbandonPayment', attemptId: id, reason: 'refused', ...by, nowMs }
          : { type: 'RecordPaymentFailure', attemptId: id, code: 'card_declined', isTerminal: false, ...of, nowMs };
        account.nowMs += 5 * 3_600_000;
      }
    },
  ),
  move(
    2,
    'decline a card on and on, under terms that change',
    { rounds: fc.integer({ min: 4, max: 6 }), hours: fc.constantFrom(1, 5, 50), others },
    function* ({ rounds, hours, others: of }, account) {
      const paymentMethodId = `pm_${account.next()}`;
      const card = { provider: 'stripe', customerId: 'cus', paymentMethodId, brand: 'visa', last4: '4242' };
      yield { type: 'SavePaymentMethod', ...card, consentedAtMs: account.nowMs, ...BY };
      for (let round = 0; round < rounds; round++) {
        const { balance } = account.open;
        const threshold = microUsd((balance < 0n ? 0n : balance) + 1_000n);
        const terms = {
          threshold,
          target: microUsd(threshold + 500_000n),
          monthlyCap: microUsd(10n ** 12n + BigInt(round)),
        };
        yield { type: 'ConfigureAutoReload', ...terms, consentedAtMs: account.nowMs, ...BY };
        for (let time = 0; time < 3; time++) {
          const id = attemptId(`reload${account.next()}`);
          yield { type: 'StartAutoReload', attemptId: id, provider: 'stripe', nowMs: account.nowMs };
          const declined = { type: 'RecordPaymentFailure', attemptId: id, code: 'x', isTerminal: false } as const;
          yield { ...declined, ...of, nowMs: account.nowMs };
          account.nowMs += hours * 3_600_000;
        }
      }
    },
  ),
  move(1, 'require action', { which }, (of, account) => {
    const id = attemptOf(account, of.which)?.attemptId ?? unknown;
    const waiting = { attemptId: id, paymentId: paymentId(`pi_${id}`) };
    return [{ type: 'RequirePaymentAction', ...waiting, nowMs: account.nowMs }];
  }),
  move(1, 'abandon', { which, endedBy, isPurchase: fc.boolean() }, (of, account) => {
    const what = { attemptId: attemptOf(account, of.which)?.attemptId ?? unknown, reason: 'x', nowMs: account.nowMs };
    return [of.isPurchase ? { type: 'EndPurchase', ...what } : { type: 'AbandonPayment', ...what, ...of.endedBy }];
  }),
  move(2, 'refund', { which, isNew, isByHand, percent: fc.integer({ min: 0, max: 101 }) }, (of, account) => {
    const attempt = oneOf(paidOf(account), of.which);
    const refundId = of.isNew ? `back${account.next()}` : `back${of.which % 8}`;
    const amount = microUsd(((attempt?.price ?? 100n) * BigInt(of.percent)) / 100n);
    const what = { paymentId: attempt?.paymentId ?? paymentId('unknown'), refundId, amount };
    const said = of.isByHand ? BY_HAND : ACTOR;
    return [{ type: 'RecordRefund', ...what, refundedAtMs: account.nowMs, ...said, nowMs: account.nowMs }];
  }),
  move(
    2,
    'withdraw a refund',
    { which, said: fc.constantFrom(BY_HAND, BY_HAND, ACTOR, ACTOR, { ...BY_HAND, reason: ' ' }) },
    (of, account) => {
      const [paid, { refundId }] = refundOf(account, of.which);
      return [{ type: 'WithdrawRefund', paymentId: paid, refundId, ...of.said, nowMs: account.nowMs }];
    },
  ),
  move(
    2,
    'tell a refund again',
    { which, percent: fc.constantFrom(100, 40), isKnown: fc.constantFrom(true, true, false) },
    (of, account) => {
      const [paid, { refundId, amount }] = refundOf(account, of.which);
      const price = paidOf(account).find((one) => one.paymentId === paid)?.price ?? 1n;
      const told = amount > 0n ? amount : microUsd((price * BigInt(of.percent)) / 100n);
      const stood = of.isKnown ? { stood: refundId } : {};
      const what = { paymentId: paid, refundId: nameOf(refundId), amount: told, ...stood };
      return [{ type: 'RecordRefund', ...what, refundedAtMs: account.nowMs, ...ACTOR, nowMs: account.nowMs }];
    },
  ),
  move(
    2,
    'tell a dispute again',
    { which, percent: fc.constantFrom(100, 40, 25), isKnown: fc.constantFrom(true, true, false), end },
    (of, account) => {
      const [paid, { disputeId, amount }] = disputeOf(account, of.which);
      const price = paidOf(account).find((one) => one.paymentId === paid)?.price ?? 1n;
      const told = of.percent === 25 ? amount : microUsd((price * BigInt(of.percent)) / 100n);
      const { nowMs } = account;
      const what = { paymentId: paid, disputeId: nameOf(disputeId), ...ACTOR, nowMs };
      const stood = of.isKnown ? { stood: disputeId } : {};
      const opened = { type: 'RecordDispute', ...what, amount: told, openedAtMs: nowMs, ...stood } as const;
      if (of.end === null) return [opened];
      return [opened, { type: 'CloseDispute', ...what, outcome: of.end, closedAtMs: nowMs }];
    },
  ),
  move(
    1,
    'refund in parts',
    { which, parts: fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 2, maxLength: 4 }) },
    (of, account) => {
      const attempt = oneOf(paidOf(account), of.which);
      if (attempt?.paymentId == null) return [];
      const { paymentId: paid, price } = attempt;
      return of.parts.map((percent) => {
        const what = {
          paymentId: paid,
          refundId: `back${account.next()}`,
          amount: microUsd((price * BigInt(percent)) / 100n + 1n),
        };
        return { type: 'RecordRefund', ...what, refundedAtMs: account.nowMs, ...BY_HAND, nowMs: account.nowMs };
      });
    },
  ),
  move(
    2,
    'revoke of what was paid, and have more go back than is left, of which some does not',
    { which, revoked: fc.integer({ min: 1, max: 60 }), isRefund: fc.boolean() },
    (of, account) => {
      const attempt = oneOf(paidOf(account), of.which);
      if (attempt?.paymentId == null) return [];
      const { paymentId: paid, price, credits } = attempt;
      const { nowMs } = account;
      const [revocationId, refundId, other] = [account.next(), account.next(), account.next()].map((id) => `back${id}`);
      const amount = microUsd((credits * BigInt(of.revoked)) / 100n);
      const part = (percent: bigint) => microUsd((price * percent) / 100n);
      const said = { ...ACTOR, nowMs };
      const first = { paymentId: paid, refundId: `${refundId}`, ...said };
      return [
        {
          ...{ type: 'RevokeGrant', revocationId: `${revocationId}`, grantId: grantId(`payment_${paid}`), amount },
          ...{ cause: 'fraud', paymentId: null, ...BY_HAND, nowMs },
        },
        { type: 'RecordRefund', ...first, amount: part(70n), refundedAtMs: nowMs },
        of.isRefund
          ? { type: 'RecordRefund', ...first, refundId: `${other}`, amount: part(25n), refundedAtMs: nowMs }
          : {
              type: 'RecordDispute',
              paymentId: paid,
              disputeId: `${other}`,
              ...said,
              amount: part(40n),
              openedAtMs: nowMs,
            },
        { type: 'WithdrawRefund', ...first },
      ];
    },
  ),
  move(2, 'dispute', { which, isNew, isByHand, percent: fc.constantFrom(100, 100, 40, 130, 0) }, (of, account) => {
    const attempt = oneOf(paidOf(account), of.which);
    const disputeId = of.isNew ? `back${account.next()}` : `back${of.which % 8}`;
    const amount = microUsd(((attempt?.price ?? 100n) * BigInt(of.percent)) / 100n);
    const what = { paymentId: attempt?.paymentId ?? paymentId('unknown'), disputeId, amount };
    const said = of.isByHand ? BY_HAND : ACTOR;
    return [{ type: 'RecordDispute', ...what, openedAtMs: account.nowMs, ...said, nowMs: account.nowMs }];
  }),
  move(
    3,
    'close a dispute',
    { which, isWon: fc.boolean(), said: fc.constantFrom(BY_HAND, BY_HAND, ...TOLD) },
    (of, account) => {
      const [paid, { disputeId }] = disputeOf(account, of.which);
      const outcome = of.isWon ? 'won' : 'lost';
      const what = { paymentId: paid, disputeId, outcome, closedAtMs: account.nowMs } as const;
      return [{ type: 'CloseDispute', ...what, ...of.said, nowMs: account.nowMs }];
    },
  ),
  move(2, 'set up auto-reload', { threshold: fc.constantFrom(300_000, 600_000) }, ({ threshold }, account) => [
    {
      ...{ type: 'SavePaymentMethod', provider: 'stripe', customerId: 'cus', paymentMethodId: 'pm_0', brand: 'visa' },
      ...{ last4: '4242', consentedAtMs: account.nowMs, ...BY },
    },
    {
      ...{ type: 'ConfigureAutoReload', threshold: microUsd(BigInt(threshold)), target: microUsd(1_200_000n) },
      ...{ monthlyCap: microUsd(2_500_000n), consentedAtMs: account.nowMs, ...BY },
    },
    {
      type: 'StartAutoReload',
      attemptId: attemptId(`reload${account.next()}`),
      provider: 'stripe',
      nowMs: account.nowMs,
    },
  ]),
  move(
    2,
    'save a method',
    { which: fc.nat({ max: 3 }), agoMs: fc.constantFrom(0, 3_600_000) },
    ({ which: card, agoMs }, account) => [
      {
        ...{
          type: 'SavePaymentMethod',
          provider: 'stripe',
          customerId: 'cus',
          paymentMethodId: `pm_${card}`,
          brand: 'visa',
        },
        ...{ last4: '4242', consentedAtMs: account.nowMs - agoMs, ...BY },
      },
    ],
  ),
  move(1, 'remove the method', {}, (_, account) => [{ type: 'RemovePaymentMethod', ...BY, nowMs: account.nowMs }]),
  move(
    2,
    'configure auto-reload',
    {
      threshold: fc.constantFrom(0, 300_000, 600_000),
      more: fc.constantFrom(500_000, 600_005, 400_000),
      caps: fc.constantFrom(0, 1, 2, 2, 2),
      isOn: fc.constantFrom(true, true, true, false),
    },
    ({ threshold, more, caps, isOn }, account) => [
      {
        ...{
          type: 'ConfigureAutoReload',
          threshold: microUsd(BigInt(threshold)),
          target: microUsd(BigInt(threshold + more)),
        },
        monthlyCap: microUsd(BigInt(caps * (threshold + more) + 100_000)),
        ...{ consentedAtMs: isOn ? account.nowMs : null, ...BY },
      },
    ],
  ),
  move(5, 'reload', {}, (_, account) => [
    {
      type: 'StartAutoReload',
      attemptId: attemptId(`reload${account.next()}`),
      provider: 'stripe',
      nowMs: account.nowMs,
    },
  ]),
];

function refundOf(account: RealAccount, at: number) {
  const refunds = paidOf(account).flatMap((one) => one.refunds.map((refund) => [one.paymentId, refund] as const));
  const [id, refund] = oneOf(refunds, at) ?? [null, { refundId: 'unknown', amount: microUsd(0n) }];
  return [paymentId(id ?? 'unknown'), refund] as const;
}

function disputeOf(account: RealAccount, at: number) {
  const disputes = paidOf(account).flatMap((one) => one.disputes.map((dispute) => [one.paymentId, dispute] as const));
  const [id, dispute] = oneOf(disputes, at) ?? [null, { disputeId: 'unknown', amount: microUsd(0n) }];
  return [paymentId(id ?? 'unknown'), dispute] as const;
}

/** As a provider calls it. */
const nameOf = (id: string): string => id.replace(/_again.*$/, '');

const paidOf = (account: RealAccount): PaymentAttempt[] => attemptsOf(account).filter(({ state }) => state === 'paid');
