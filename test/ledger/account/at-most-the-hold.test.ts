import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  debitWithCarry,
  type MicroUsd,
  microUsd,
  mostDebited,
  PICO_PER_MICRO,
  picoUsd,
} from '../../../contracts/money.ts';
import { debitWithinHold, mostDebitedWithinHold } from '../../../ledger/account/at-most-the-hold.ts';
import { rateUsage } from '../../../ledger/rating.ts';
import { CARD, usageOf } from '../../fixtures/ledger/example-account.ts';

const amounts = fc.bigInt({ min: 0n, max: 10n ** 24n });
const carries = fc.bigInt({ min: 0n, max: PICO_PER_MICRO - 1n }).map(picoUsd);

describe('a debit', () => {
  test('takes at most the hold; what it takes and what is left out are what the cost would have taken', () => {
    fc.assert(
      fc.property(amounts, carries, amounts, (hold, carry, cost) => {
        const { amount, leftOut, carryAfter } = debitWithinHold(microUsd(hold), carry, picoUsd(cost));
        const whole = debitWithCarry(carry, picoUsd(cost));
        expect(amount <= hold).toBe(true);
        expect(leftOut > 0n ? amount : hold).toBe(hold);
        expect({ amount: amount + leftOut, carryAfter }).toEqual(whole);
      }),
    );
  });

  test('has no bound where no hold was kept', () => {
    expect(debitWithinHold(null, picoUsd(1n), picoUsd(10n ** 24n - 1n))).toEqual({
      amount: 10n ** 18n,
      leftOut: 0n,
      carryAfter: 0n,
    });
  });
});

describe('what is held until the debit', () => {
  const held = (hold: MicroUsd | null, billable = true): bigint =>
    mostDebitedWithinHold({ ...usageOf(1, 3), hold, billable }, CARD);
  const most = mostDebited(rateUsage(usageOf(1, 3), CARD).cost);

  test('is the cost rounded up, at most the hold, and nothing where nothing is charged', () => {
    expect(held(null)).toBe(most);
    expect(held(microUsd(most + 1n))).toBe(most);
    expect(held(microUsd(most - 1n))).toBe(most - 1n);
    expect(held(null, false)).toBe(0n);
  });

  test('is never less than the debit that comes', () => {
    fc.assert(
      fc.property(amounts, carries, (hold, carry) => {
        const { cost } = rateUsage(usageOf(1, 3), CARD);
        expect(debitWithinHold(microUsd(hold), carry, cost).amount <= held(microUsd(hold))).toBe(true);
      }),
    );
  });
});
