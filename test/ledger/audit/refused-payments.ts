import type { AccountEvent } from '../../../contracts/events.ts';
import { attemptId, paymentId } from '../../../contracts/ids.ts';
import type { AccountCommand } from '../../../ledger/account/commands.ts';
import { granted, ms, opened, usd } from '../../fixtures/ledger/example-account.ts';
import type { Case } from './account-faults.ts';

/** Payments that the decider would have refused, and that stand in the stream all the same (refusals.test.ts). */

const AT = '2026-11-20T10:00:00.000Z';
const attempt = attemptId('purchase_1');
const payment = paymentId('pi_1');
const BEGUN = { attemptId: attempt, provider: 'manual', amount: usd(20), price: usd(18), by: 'operator' };
const start = { type: 'StartPurchase', ...BEGUN, nowMs: ms(AT) } as const;
const started = (change: Partial<typeof BEGUN> = {}): AccountEvent => ({
  type: 'PurchaseStarted',
  data: { ...BEGUN, startedAt: AT, ...change },
});
const PAID = { attemptId: attempt, provider: 'manual', paymentId: payment, amount: usd(18) };
const pay = { type: 'RecordPayment', ...PAID, paidAtMs: ms(AT), nowMs: ms(AT) } as const;
const paid = (change: Partial<typeof PAID> = {}): AccountEvent[] => [
  { type: 'PaymentSucceeded', data: { ...PAID, paidAt: AT, ...change } },
  granted(`payment_${change.paymentId ?? payment}`, 20, { costBasis: change.amount ?? usd(18), effectiveAt: AT }),
];
const other = attemptId('purchase_2');
const begun = [opened, started()];
const ended = [...begun, ...paid()];
const failed: AccountEvent = {
  type: 'PaymentFailed',
  data: { attemptId: attempt, code: 'card_declined', isTerminal: true, failedAt: AT, nextAttemptAt: null },
};
const abandoned: AccountEvent = { type: 'PaymentAbandoned', data: { attemptId: attempt, reason: 'x', at: AT } };
const action: AccountEvent = {
  type: 'PaymentActionRequired',
  data: { attemptId: attempt, paymentId: payment, at: AT },
};

const late = (command: AccountCommand, written: AccountEvent): Case[] => [
  {
    ...{ refused: 'attempt_not_found', life: [opened], command, written: [written] },
    fault: /^purchase_1: has an outcome, and was never begun$/,
  },
  {
    ...{ refused: 'nothing', life: ended, command, written: [written] },
    fault: /^purchase_1: has an outcome, and is not open$/,
  },
];

export const PAYMENT_CASES = {
  StartPurchase: [
    {
      ...{ refused: 'invalid_amount', life: [opened], command: { ...start, amount: usd(0) } },
      ...{ written: [started({ amount: usd(0) })], fault: /^purchase_1: a payment of nothing, or for nothing$/ },
    },
    {
      ...{ refused: 'invalid_amount', life: [opened], command: { ...start, price: usd(0) } },
      ...{ written: [started({ price: usd(0) })], fault: /^purchase_1: a payment of nothing, or for nothing$/ },
    },
    {
      ...{ refused: 'id_reused', life: ended, command: { ...start, amount: usd(21) } },
      ...{ written: [started({ amount: usd(21) })], fault: /^purchase_1: begun twice$/ },
    },
    {
      ...{ refused: 'attempt_open', life: begun, command: { ...start, attemptId: other } },
      ...{ written: [started({ attemptId: other })], fault: /^purchase_2: begun while purchase_1 is open$/ },
    },
  ],
  RecordPayment: [
    {
      ...{ refused: 'attempt_not_found', life: [opened], command: pay, written: paid() },
      fault: /^purchase_1: paid, and was never begun$/,
    },
    {
      ...{ refused: 'payment_differs', life: ended, command: { ...pay, paymentId: paymentId('pi_2') } },
      written: paid({ paymentId: paymentId('pi_2') }),
      fault: /^purchase_1: paid by pi_2, and was paid by pi_1$/,
    },
    {
      ...{ refused: 'payment_differs', life: begun, command: { ...pay, amount: usd(17) } },
      ...{
        written: paid({ amount: usd(17) }),
        fault: /^purchase_1: what was paid is 0\.000017 USD, should be 0\.000018/,
      },
    },
    {
      ...{ refused: 'grant_exists', life: [...begun, granted('payment_pi_1', 1)], command: pay, written: paid() },
      fault: /^payment_pi_1: granted twice$/,
    },
  ],
  RecordPaymentFailure: late(
    { type: 'RecordPaymentFailure', attemptId: attempt, code: 'card_declined', isTerminal: true, nowMs: ms(AT) },
    failed,
  ),
  RequirePaymentAction: late(
    { type: 'RequirePaymentAction', attemptId: attempt, paymentId: payment, nowMs: ms(AT) },
    action,
  ),
  AbandonPayment: late({ type: 'AbandonPayment', attemptId: attempt, reason: 'x', nowMs: ms(AT) }, abandoned),
  // They say what may be charged, and nothing that another event could be compared with.
  SavePaymentMethod: [],
  RemovePaymentMethod: [],
} satisfies Partial<Record<AccountCommand['type'], readonly Case[]>>;
