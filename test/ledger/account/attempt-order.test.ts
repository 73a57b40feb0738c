import { expect, it } from 'vitest';
import { attemptId } from '../../../contracts/ids.ts';
import { allAttempts } from '../../../ledger/account/payments.ts';
import { NO_PAYMENTS, type PaymentsState, withAttempt } from '../../../ledger/account/payments-state.ts';
import { newestRenewal, renewalId } from '../../../ledger/account/plans.ts';
import { ms } from '../../fixtures/ledger/example-account.ts';
import { stripeAttempt } from '../../fixtures/stripe/stripe-example.ts';

const START_MS = ms('2026-11-30T22:00:00.000Z');
const period = { plan: 'starter', catalogVersion: 1, startMs: START_MS, endMs: ms('2026-12-30T22:00:00.000Z') };

/** Those of one period, the number of each and how many milliseconds after the first it says that it began. */
const attempts = (...begun: readonly (readonly [number: number, afterMs: number])[]): PaymentsState =>
  begun.reduce<PaymentsState>((payments, [number, afterMs]) => {
    const id = attemptId(number === 1 ? renewalId(START_MS) : `${renewalId(START_MS)}_${number}`);
    const one = { attemptId: id, kind: 'renewal', period, startedAtMs: START_MS + afterMs } as never;
    return withAttempt(payments, stripeAttempt(one));
  }, NO_PAYMENTS);
const withPurchase = (payments: PaymentsState, id: string, afterMs: number): PaymentsState =>
  withAttempt(payments, stripeAttempt({ attemptId: attemptId(id), kind: 'purchase', startedAtMs: START_MS + afterMs }));
const numberOf = (id: string | undefined): string => id?.replace(renewalId(START_MS), '').slice(1) || '1';
const newest = (payments: PaymentsState) => numberOf(newestRenewal(payments, START_MS)?.attemptId);
const inOrder = (payments: PaymentsState) =>
  allAttempts(payments).map(({ attemptId: id, kind }) => (kind === 'renewal' ? numberOf(id) : id));

it('of the attempts of a period the newest is the last by its number, whatever the clocks of their writers say', () => {
  expect(newest(attempts([1, 0], [2, 1], [3, 2]))).toBe('3');
  expect(newest(attempts([1, 5], [2, 1]))).toBe('2');
  expect(newest(attempts([1, 0], [2, 0]))).toBe('2');
  expect(newest(attempts([8, 0], [9, 0], [10, 0]))).toBe('10');
  expect(newest(attempts([9, 0], [10, 0], [11, 0]))).toBe('11');
  expect(newest(attempts([99, 0], [100, 0], [20, 1]))).toBe('100');
});

it('all attempts are in one order, in which the last of a period is the newest of it', () => {
  const skewed = attempts([1, 6_000], [2, 3_000], [3, 9_000], [9, 9_000], [10, 8_000]);
  expect(inOrder(skewed)).toEqual(['1', '2', '3', '9', '10']);
  expect(inOrder(skewed).at(-1)).toBe(newest(skewed));
});

it('what has no number stands among them by when it was begun, and takes none of them out of its order', () => {
  const bought = [
    ['before', 5_999],
    ['since', 6_001],
    ['at_last', 9_001],
  ] as const;
  const all = bought.reduce(
    (payments, [id, afterMs]) => withPurchase(payments, id, afterMs),
    attempts([1, 6_000], [2, 3_000], [3, 9_000], [4, 4_000]),
  );
  expect(inOrder(all)).toEqual(['before', '1', '2', 'since', '3', '4', 'at_last']);
});

it('what two periods have does not mix', () => {
  const later = { ...period, startMs: period.endMs, endMs: ms('2027-01-30T22:00:00.000Z') };
  const id = attemptId(renewalId(later.startMs));
  const next = stripeAttempt({ attemptId: id, kind: 'renewal', period: later, startedAtMs: later.startMs } as never);
  expect(allAttempts(withAttempt(attempts([1, 0], [10, 1]), next)).at(-1)?.attemptId).toBe(id);
});
