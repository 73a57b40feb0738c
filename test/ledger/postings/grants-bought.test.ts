import { expect, it } from 'vitest';
import type { AccountEvent } from '../../../contracts/events.ts';
import { attemptId, paymentId } from '../../../contracts/ids.ts';
import type { AccountCommand } from '../../../ledger/account/commands.ts';
import { factsOf } from '../../../ledger/export/entry-facts.ts';
import { Bookkeeper } from '../../../ledger/postings/bookkeeper.ts';
import { GrantsBought } from '../../../ledger/postings/grants-bought.ts';
import { given } from '../../fixtures/ledger/decider-specification.ts';
import { granted, ms, opened, usd } from '../../fixtures/ledger/example-account.ts';
import { storedLife } from '../statement/stored-life.ts';

const AT = '2026-11-20T10:00:00.000Z';
const [OF_STRIPE, PAYMENT] = [{ attemptId: attemptId('p1'), provider: 'stripe', amount: usd(20) }, paymentId('pi_1')];
const SAID = { actor: 'operator', nowMs: ms(AT) };
const paid: AccountEvent = { type: 'PaymentSucceeded', data: { ...OF_STRIPE, paymentId: PAYMENT, paidAt: AT } };
const promotion = granted('promotion', 7, { source: 'promotion', costBasis: usd(0) });

const boughtIn = (...events: readonly AccountEvent[]): readonly string[] => {
  const grants = new GrantsBought();
  return events.flatMap((event) => {
    const payment = grants.take(event)?.data.paymentId;
    return payment !== undefined && event.type === 'CreditsGranted' ? [`${event.data.grantId} by ${payment}`] : [];
  });
};

it('a payment has bought the credits that are next behind it and called after it, and no others', () => {
  const [usual, other] = [granted('payment_pi_1', 20), granted('payment_~pi_1', 20)];
  expect(boughtIn(opened, paid, usual)).toEqual(['payment_pi_1 by pi_1']);
  expect(boughtIn(usual, paid, other)).toEqual(['payment_~pi_1 by pi_1']);
  // As an operator of before could call a grant.
  expect(boughtIn(paid, usual, other)).toEqual(['payment_pi_1 by pi_1']);
  expect(boughtIn(paid, promotion)).toEqual([]);
  expect(boughtIn(usual)).toEqual([]);
});

it('what goes back of a payment is exported with the grant that it has bought, whatever was granted since or before', () => {
  const commands: readonly AccountCommand[] = [
    { type: 'StartPurchase', ...OF_STRIPE, price: usd(20), by: 'x', nowMs: ms(AT) },
    { type: 'RecordPayment', ...OF_STRIPE, paymentId: PAYMENT, paidAtMs: ms(AT), nowMs: ms(AT) },
  ];
  const refund: AccountCommand = {
    ...{ type: 'RecordRefund', paymentId: PAYMENT, refundId: 're_1', amount: usd(5), refundedAtMs: ms(AT), ...SAID },
  };
  const exported = (before: readonly AccountEvent[], since: readonly AccountEvent[]): string | undefined => {
    const life = [opened, ...before];
    for (const command of commands) life.push(...given(...life).decided(command));
    life.push(...since);
    life.push(...given(...life).decided(refund));
    const bookkeeper = new Bookkeeper();
    const entries = storedLife(life).flatMap((recorded) => bookkeeper.book(recorded) ?? []);
    const back = entries.find(({ event }) => event.type === 'PaymentRefunded');
    return back && factsOf(back).grant;
  };
  expect(exported([], [promotion])).toBe('payment_pi_1');
  const byHand = (id: string): AccountEvent => granted(id, 7, { source: 'promotion', costBasis: usd(0) });
  expect(exported([byHand('payment_pi_1')], [promotion])).toBe('payment_~pi_1');
  expect(exported([], [byHand('payment_~pi_1')])).toBe('payment_pi_1');
});
