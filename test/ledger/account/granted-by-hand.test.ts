import { expect, test } from 'vitest';
import type { AccountEvent } from '../../../contracts/events.ts';
import { attemptId, grantId, paymentId } from '../../../contracts/ids.ts';
import type { AccountCommand } from '../../../ledger/account/commands.ts';
import { Bookkeeper } from '../../../ledger/postings/bookkeeper.ts';
import { given } from '../../fixtures/ledger/decider-specification.ts';
import { granted, ms, openAccount, opened, usd } from '../../fixtures/ledger/example-account.ts';
import { faultsOf } from '../audit/account-faults.ts';
import { storedLife } from '../statement/stored-life.ts';

/** No grant by hand takes an id of a payment's any more; there are such that were made before. */
const NOW = ms('2026-11-20T10:00:00.000Z');
const [ATTEMPT, PAYMENT] = [attemptId('purchase_1'), paymentId('pi_1')];
const SAID = { actor: 'operator', nowMs: NOW };
const OF_STRIPE = { attemptId: ATTEMPT, provider: 'stripe', amount: usd(20) };
const start: AccountCommand = { type: 'StartPurchase', ...OF_STRIPE, price: usd(20), by: 'x', nowMs: NOW };
const pay: AccountCommand = {
  ...{ type: 'RecordPayment', ...OF_STRIPE, paymentId: PAYMENT, paidAtMs: NOW, nowMs: NOW },
};
const refund = (amount: number): AccountCommand => ({
  ...{ type: 'RecordRefund', paymentId: PAYMENT, refundId: 're_1', amount: usd(amount), refundedAtMs: NOW },
  ...SAID,
});
const dispute: AccountCommand = {
  ...{ type: 'RecordDispute', paymentId: PAYMENT, disputeId: 'dp_1', amount: usd(20), openedAtMs: NOW },
  ...SAID,
};
const won: AccountCommand = {
  ...{ type: 'CloseDispute', paymentId: PAYMENT, disputeId: 'dp_1', outcome: 'won', closedAtMs: NOW },
  ...SAID,
};

/** Commands one after another. */
function lived(before: readonly AccountEvent[], ...commands: readonly AccountCommand[]): AccountEvent[] {
  const life = [...before];
  for (const command of commands) life.push(...given(...life).decided(command));
  return life;
}

test('what goes back of a payment takes its own credits, and not those that an operator of before has granted under its id', () => {
  const byHand = granted('payment_pi_1', 7, { costBasis: usd(0) });
  const life = lived([opened, byHand], start, pay);
  const left = (...commands: readonly AccountCommand[]): Record<string, bigint> => {
    const all = lived(life, ...commands);
    expect(faultsOf(all)).toEqual([]);
    return Object.fromEntries(openAccount(all).grants.map(({ grantId, remaining }) => [grantId, remaining]));
  };
  const [own, others] = ['payment_~pi_1', 'payment_pi_1'];
  expect(left()).toEqual({ [own]: 20n, [others]: 7n });
  expect(left(refund(12))).toEqual({ [own]: 8n, [others]: 7n });
  expect(left(dispute)).toEqual({ [own]: 0n, [others]: 7n });
  expect(left(dispute, won)).toEqual({ [own]: 20n, [others]: 7n });
  const revoke = (id: string, cause: 'refund' | 'fraud'): AccountCommand => ({
    ...{ type: 'RevokeGrant', revocationId: 'rv', grantId: grantId(id), amount: usd(5), cause, paymentId: null },
    ...{ reason: 'by hand', ...SAID },
  });
  given(...life).refuses(revoke(own, 'refund'), 'paid_here');
  expect(left(revoke(others, 'refund'))).toEqual({ [own]: 20n, [others]: 2n });
  // Nobody has paid for them: they come back whatever has gone back of the payment.
  const back = { type: 'RestoreGrant', restorationId: 'rs', revocationId: 'rv', amount: null, reason: 'x', ...SAID };
  expect(left(revoke(others, 'fraud'), refund(20), back as AccountCommand)).toEqual({ [own]: 0n, [others]: 7n });
  given(...lived(life, revoke(own, 'fraud'), refund(20))).refuses(back as AccountCommand, 'invalid_amount');
});

test('what goes back of a payment takes its own credits beside one of before that is called as it is with ~ before it', () => {
  const [other, namesake] = [attemptId('purchase_2'), paymentId('~pi_1')];
  /** No payment is called so any more. */
  const calledSo = (begun: readonly AccountEvent[], grant: string): AccountEvent[] => {
    const named = { attemptId: other, paymentId: paymentId('pi_2') };
    const life = lived(begun, { ...start, ...named } as AccountCommand, { ...pay, ...named } as AccountCommand);
    return life.map((event) => {
      if (event.type === 'PaymentSucceeded' && event.data.attemptId === other)
        return { ...event, data: { ...event.data, paymentId: namesake } };
      const isIts = event.type === 'CreditsGranted' && event.data.grantId === 'payment_pi_2';
      return isIts ? { ...event, data: { ...event.data, grantId: grantId(grant) } } : event;
    });
  };
  const ofNamesake = { ...refund(12), paymentId: namesake, refundId: 're_2' } as AccountCommand;
  const byHand = granted('payment_pi_1', 7, { costBasis: usd(0) });
  const paid = lived([opened], start, pay);
  for (const [life, own, its] of [
    [calledSo(paid, 'payment_~pi_1'), 'payment_pi_1', 'payment_~pi_1'],
    [calledSo(lived([opened, byHand], start, pay), 'payment_~~pi_1'), 'payment_~pi_1', 'payment_~~pi_1'],
  ] as const) {
    const left = (...commands: readonly AccountCommand[]): unknown => {
      const all = lived(life, ...commands);
      expect(faultsOf(all)).toEqual([]);
      const bookkeeper = new Bookkeeper();
      const bought = storedLife(all).flatMap((recorded) => bookkeeper.book(recorded)?.bought ?? []);
      const held = Object.fromEntries(openAccount(all).grants.map((one) => [one.grantId, one.remaining]));
      return [held[own], held[its], bought];
    };
    expect(left(refund(12))).toEqual([8n, 20n, [own]]);
    expect(left(ofNamesake)).toEqual([20n, 8n, [its]]);
    expect(left(dispute, ofNamesake, won)).toEqual([20n, 8n, [own, its, own]]);
  }
});
