import type { AccountEvent } from '../../../contracts/events.ts';
import { attemptId, paymentId } from '../../../contracts/ids.ts';
import type { AccountCommand, CommandOf } from '../../../ledger/account/commands.ts';
import { given } from '../../fixtures/ledger/decider-specification.ts';
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
const abandoned: AccountEvent = {
  type: 'PaymentAbandoned',
  data: { attemptId: attempt, reason: 'x', at: AT, endedBy: null },
};
const action: AccountEvent = {
  type: 'PaymentActionRequired',
  data: { attemptId: attempt, paymentId: payment, at: AT },
};

const SAID = { reason: 'x', actor: 'operator', nowMs: ms(AT) };
const refund: CommandOf<'RecordRefund'> = {
  ...{ type: 'RecordRefund', paymentId: payment, refundId: 're_1', amount: usd(9), refundedAtMs: ms(AT) },
  ...SAID,
};
const dispute: CommandOf<'RecordDispute'> = {
  ...{ type: 'RecordDispute', paymentId: payment, disputeId: 'dp_1', amount: usd(18), openedAtMs: ms(AT) },
  ...SAID,
};
const close: CommandOf<'CloseDispute'> = {
  ...{ type: 'CloseDispute', paymentId: payment, disputeId: 'dp_1', outcome: 'won', closedAtMs: ms(AT) },
  ...SAID,
};
const refunded = (amount = usd(9)): AccountEvent[] => [
  { type: 'PaymentRefunded', data: { paymentId: payment, refundId: 're_1', amount, refundedAt: AT, reason: 'x' } },
  ...given(...ended)
    .decided({ ...refund })
    .slice(1),
];
const disputed = (amount = usd(18)): AccountEvent[] => [
  { type: 'PaymentDisputed', data: { paymentId: payment, disputeId: 'dp_1', amount, openedAt: AT, reason: 'x' } },
  ...given(...ended)
    .decided({ ...dispute })
    .slice(1),
];
const closed: AccountEvent = {
  type: 'DisputeClosed',
  data: { paymentId: payment, disputeId: 'dp_1', outcome: 'won', replaces: null, closedAt: AT, reason: 'x' },
};
const lost = { ...closed, data: { ...closed.data, outcome: 'lost' } } as AccountEvent;
const lostAfterAll = { ...closed, data: { ...closed.data, outcome: 'lost', replaces: 'won' } } as AccountEvent;
const withdraw: CommandOf<'WithdrawRefund'> = {
  type: 'WithdrawRefund',
  paymentId: payment,
  refundId: 're_1',
  ...SAID,
};
const withdrawn = ({ reason = 'x' } = {}): AccountEvent[] => [
  { type: 'RefundWithdrawn', data: { paymentId: payment, refundId: 're_1', amount: usd(9), withdrawnAt: AT, reason } },
  ...given(...ended, ...refunded())
    .decided({ ...withdraw })
    .slice(1),
];
const won = [...ended, ...disputed(), ...given(...ended, ...disputed()).decided({ ...close })];
const wonAndRefunded = [...won, ...given(...won).decided({ ...refund, amount: usd(18) })];
const withoutReason = (event: AccountEvent): AccountEvent =>
  event.type === 'GrantRevoked' ? event : ({ ...event, data: { ...event.data, reason: null } } as AccountEvent);
const TERMS = { threshold: usd(5), target: usd(1_000_000), monthlyCap: usd(2_000_000), by: 'owner@example.com' };
const configure = { type: 'ConfigureAutoReload', ...TERMS, consentedAtMs: ms(AT) } as const;
const configured = (change: Partial<typeof TERMS> = {}): AccountEvent => ({
  type: 'AutoReloadConfigured',
  data: { ...TERMS, consentedAt: AT, ...change },
});
const reload = {
  type: 'StartAutoReload',
  attemptId: attemptId('reload_1'),
  provider: 'stripe',
  nowMs: ms(AT),
} as const;
const reloading: AccountEvent = {
  type: 'AutoReloadStarted',
  data: {
    ...{ attemptId: attemptId('reload_1'), provider: 'stripe', amount: usd(5), price: usd(5), balance: usd(0) },
    ...{ pending: usd(0), monthTotal: usd(0), startedAt: AT },
  },
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
      ...{ refused: 'payment_differs', life: [...ended, started({ attemptId: other })] },
      ...{ command: { ...pay, attemptId: other }, written: paid({ attemptId: other }) },
      fault: /^payment_pi_1: granted twice$/,
    },
    {
      ...{ refused: 'grant_exists', life: [...begun, granted('payment_pi_1', 1), granted('payment_~pi_1', 1)] },
      ...{ command: pay, written: paid(), fault: /^payment_pi_1: granted twice$/ },
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
  EndPurchase: late({ type: 'EndPurchase', attemptId: attempt, reason: 'x', nowMs: ms(AT) }, abandoned),
  AbandonPayment: late({ type: 'AbandonPayment', attemptId: attempt, reason: 'x', nowMs: ms(AT) }, abandoned),
  RecordRefund: [
    {
      ...{ refused: 'reason_missing', life: ended, command: { ...refund, reason: ' ' } },
      ...{ written: refunded().map(withoutReason), fault: /^re_1: without a reason$/ },
    },
    {
      ...{ refused: 'payment_not_found', life: [opened], command: refund, written: refunded() },
      fault: /^re_1: of pi_1, which was never paid$/,
    },
    {
      ...{ refused: 'nothing', life: [...ended, ...refunded()], command: refund, written: refunded() },
      fault: /^re_1: refunded twice$/,
    },
    {
      ...{ refused: 'invalid_amount', life: ended, command: { ...refund, amount: usd(19) } },
      ...{
        written: refunded(usd(19)).slice(0, 1),
        fault: /^re_1: refunds of pi_1 is 0\.000019 USD, should be at most/,
      },
    },
    {
      ...{ refused: 'invalid_amount', life: [...ended, ...disputed()], command: refund },
      ...{
        written: refunded().slice(0, 1),
        fault: /^re_1: refunds of pi_1 is 0\.000009 USD, should be at most 0\.000000 USD$/,
      },
    },
    {
      ...{ refused: 'id_reused', life: [...ended, ...refunded(), ...withdrawn()], command: refund },
      ...{ written: refunded().slice(0, 1), fault: /^re_1: refunded twice$/ },
    },
    {
      ...{ refused: 'id_reused', life: [...ended, ...refunded()], command: { ...refund, amount: usd(8) } },
      ...{ written: refunded(usd(8)).slice(0, 1), fault: /^re_1: refunded twice$/ },
    },
    {
      ...{ refused: 'id_reused', life: [...ended, ...disputed()], command: { ...refund, refundId: 'dp_1' } },
      written: [
        {
          type: 'PaymentRefunded',
          data: { paymentId: payment, refundId: 'dp_1', amount: usd(9), refundedAt: AT, reason: 'x' },
        },
      ],
      fault: /^dp_1: refunded twice$/,
    },
  ],
  WithdrawRefund: [
    {
      ...{ refused: 'reason_missing', life: [...ended, ...refunded()], command: { ...withdraw, reason: ' ' } },
      ...{ written: withdrawn({ reason: ' ' }), fault: /^re_1: without a reason$/ },
    },
    {
      ...{ refused: 'payment_not_found', life: [opened], command: withdraw, written: withdrawn().slice(0, 1) },
      fault: /^re_1: of pi_1, which was never paid$/,
    },
    {
      ...{ refused: 'refund_not_found', life: ended, command: withdraw, written: withdrawn().slice(0, 1) },
      fault: /^re_1: withdrawn, and was never refunded$/,
    },
    {
      ...{ refused: 'nothing', life: [...ended, ...refunded(), ...withdrawn()], command: withdraw },
      ...{ written: withdrawn().slice(0, 1), fault: /^re_1: withdrawn twice$/ },
    },
  ],
  RecordDispute: [
    {
      ...{ refused: 'reason_missing', life: ended, command: { ...dispute, reason: ' ' } },
      ...{ written: disputed().map(withoutReason), fault: /^dp_1: without a reason$/ },
    },
    {
      ...{ refused: 'payment_not_found', life: [opened], command: dispute, written: disputed() },
      fault: /^dp_1: of pi_1, which was never paid$/,
    },
    {
      ...{ refused: 'invalid_amount', life: ended, command: { ...dispute, amount: usd(0) } },
      ...{ written: disputed(usd(0)).slice(0, 1), fault: /^dp_1: a dispute about nothing$/ },
    },
    {
      ...{ refused: 'invalid_amount', life: ended, command: { ...dispute, amount: usd(19) } },
      ...{ written: disputed(usd(19)).slice(0, 1), fault: /^dp_1: the dispute of pi_1 is 0\.000019 USD, should be at/ },
    },
    {
      ...{ refused: 'id_reused', life: [...ended, ...refunded()], command: { ...dispute, disputeId: 're_1' } },
      written: [
        {
          type: 'PaymentDisputed',
          data: { paymentId: payment, disputeId: 're_1', amount: usd(18), openedAt: AT, reason: 'x' },
        },
      ],
      fault: /^re_1: disputed twice$/,
    },
  ],
  CloseDispute: [
    {
      ...{
        refused: 'reason_missing',
        life: [...ended, ...disputed()],
        command: { ...close, outcome: 'lost', reason: ' ' },
      },
      ...{ written: [withoutReason(lost)], fault: /^dp_1: without a reason$/ },
    },
    {
      ...{ refused: 'dispute_not_found', life: ended, command: close },
      ...{ written: [closed], fault: /^dp_1: closed, and was never opened$/ },
    },
    {
      ...{ refused: 'nothing', life: [...ended, ...disputed(), lost], command: { ...close, outcome: 'lost' } },
      ...{ written: [lost], fault: /^dp_1: lost, and was lost before$/ },
    },
    {
      ...{ refused: 'invalid_amount', life: wonAndRefunded, command: { ...close, outcome: 'lost' } },
      ...{
        written: [lostAfterAll],
        fault: /^dp_1: lost after all, of pi_1 is 0\.000018 USD, should be at most 0\.0000/,
      },
    },
  ],
  ConfigureAutoReload: [
    {
      ...{ refused: 'invalid_amount', life: [opened], command: { ...configure, target: usd(5) } },
      ...{ written: [configured({ target: usd(5) })], fault: /^auto-reload: its target is not above its threshold$/ },
    },
    {
      ...{ refused: 'invalid_amount', life: [opened], command: { ...configure, monthlyCap: usd(1) } },
      ...{
        written: [configured({ monthlyCap: usd(1) })],
        fault: /^auto-reload: its cap is less than a single reload$/,
      },
    },
  ],
  StartAutoReload: [
    {
      ...{ refused: 'nothing', life: [opened], command: reload, written: [reloading] },
      fault: /^reload_1: begun, and auto-reload was never configured$/,
    },
  ],
  // They say what may be charged, and nothing that another event could be compared with.
  SavePaymentMethod: [],
  RemovePaymentMethod: [],
} satisfies Partial<Record<AccountCommand['type'], readonly Case[]>>;
