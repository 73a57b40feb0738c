import { expect, it } from 'vitest';
import { attemptId } from '../../../contracts/ids.ts';
import { NO_PAYMENTS, type PaymentsState, withAttempt } from '../../../ledger/account/payments-state.ts';
import { newestRenewal, renewalId } from '../../../ledger/account/plans.ts';
import { ms } from '../../fixtures/ledger/example-account.ts';
import { stripeAttempt } from '../../fixtures/stripe/stripe-example.ts';

const START_MS = ms('2026-11-30T22:00:00.000Z');
const period = { plan: 'starter', catalogVersion: 1, startMs: START_MS, endMs: ms('2026-12-30T22:00:00.000Z') };

/** Those of one period, the number of each and how many milliseconds after the first it began. */
const attempts = (...begun: readonly (readonly [number: number, afterMs: number])[]): PaymentsState =>
  begun.reduce<PaymentsState>((payments, [number, afterMs]) => {
    const id = attemptId(number === 1 ? renewalId(START_MS) : `${renewalId(START_MS)}_${number}`);
    const one = { attemptId: id, kind: 'renewal', period, startedAtMs: START_MS + afterMs } as never;
    return withAttempt(payments, stripeAttempt(one));
  }, NO_PAYMENTS);
const newest = (payments: PaymentsState) => newestRenewal(payments, START_MS)?.attemptId.split('_')[2] ?? '1';

it('of the attempts of a period the newest is the last that began, of one millisecond the last by its number', () => {
  expect(newest(attempts([1, 0], [2, 1], [3, 2]))).toBe('3');
  expect(newest(attempts([1, 5], [2, 1]))).toBe('1');
  expect(newest(attempts([1, 0], [2, 0]))).toBe('2');
  expect(newest(attempts([8, 0], [9, 0], [10, 0]))).toBe('10');
  expect(newest(attempts([9, 0], [10, 0], [11, 0]))).toBe('11');
  expect(newest(attempts([99, 0], [100, 0], [20, 1]))).toBe('20');
});
