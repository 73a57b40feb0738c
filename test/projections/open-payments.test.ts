import { expect, it } from 'vitest';
import type { AccountEvent } from '../../contracts/events.ts';
import { accountId, attemptId, paymentId } from '../../contracts/ids.ts';
import { NO_PAYMENTS, type PaymentAttempt, withAttempt } from '../../ledger/account/payments-state.ts';
import { OpenPayments } from '../../projections/open-payments.ts';
import { ms, usd } from '../fixtures/ledger/example-account.ts';

const [ADA, BEN] = [accountId('acct_ada'), accountId('acct_ben')];
const [ONE, TWO] = ['2026-11-20T10:00:00.000Z', '2026-11-21T10:00:00.000Z'];

const begun = (id: string, startedAt: string, provider = 'stripe'): AccountEvent => ({
  type: 'PurchaseStarted',
  data: { attemptId: attemptId(id), provider, amount: usd(1), price: usd(1), by: 'test', startedAt },
});

const stored = (id: string, state: PaymentAttempt['state']): PaymentAttempt => ({
  ...{ attemptId: attemptId(id), kind: 'purchase', provider: 'stripe', credits: usd(1), price: usd(1), state },
  ...{
    startedAtMs: ms(ONE),
    period: null,
    paymentMethodId: null,
    declinedMethodId: null,
    decline: null,
    paymentId: null,
    refunds: [],
    disputes: [],
  },
});

const found = (open: OpenPayments) => Object.fromEntries(open.byProvider());

it('counts what is begun and not decided, by provider, with the oldest', () => {
  const open = new OpenPayments();
  open.observe(ADA, begun('a', ONE));
  open.observe(BEN, begun('a', TWO));
  open.observe(BEN, begun('b', TWO, 'manual'));
  expect(found(open)).toEqual({
    stripe: { count: 2, oldestMs: ms(ONE) },
    manual: { count: 1, oldestMs: ms(TWO) },
  });
  open.observe(ADA, {
    type: 'PaymentAbandoned',
    data: { attemptId: attemptId('a'), reason: 'test', at: TWO, endedBy: null },
  });
  expect(found(open).stripe).toEqual({ count: 1, oldestMs: ms(TWO) });
  const failed = { code: 'card_declined', isTerminal: false, failedAt: TWO, nextAttemptAt: null };
  open.observe(BEN, { type: 'PaymentFailed', data: { attemptId: attemptId('a'), ...failed } });
  const paid = { provider: 'manual', paymentId: paymentId('p'), amount: usd(1), paidAt: TWO };
  open.observe(BEN, { type: 'PaymentSucceeded', data: { attemptId: attemptId('b'), ...paid } });
  expect(found(open)).toEqual({});
});

it('has what stands open in a restored account, and follows what it is told to have and to forget', () => {
  const open = new OpenPayments();
  const attempts = [stored('a', 'open'), stored('b', 'action required'), stored('c', 'paid')];
  open.addFrom(ADA, attempts.reduce(withAttempt, NO_PAYMENTS));
  const other = new OpenPayments();
  other.adopt(open);
  expect(found(other)).toEqual({ stripe: { count: 2, oldestMs: ms(ONE) } });
  other.clear();
  expect(found(other)).toEqual({});
});
