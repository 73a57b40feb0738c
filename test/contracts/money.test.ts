import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  amountOfText,
  costOfTokens,
  counted,
  debitWithCarry,
  formatExactUsd,
  formatUsd,
  microUsd,
  mostDebited,
  PICO_PER_MICRO,
  parseUsd,
  picoUsd,
  rate,
} from '../../contracts/money.ts';

const costs = fc.bigInt({ min: 0n, max: 10n ** 15n }).map(picoUsd);

describe('an amount of USD in a text', () => {
  test.each([
    ['0', 0n],
    ['5', 5_000_000n],
    ['5.00', 5_000_000n],
    ['12.34', 12_340_000n],
    ['0.000001', 1n],
    ['0.1', 100_000n],
    ['007.5', 7_500_000n],
    ['999999999999.999999', 999_999_999_999_999_999n],
  ])('reads %j as %d micro-USD', (text, amount) => {
    expect(parseUsd(text)).toBe(amount);
  });

  test.each([
    '',
    '.',
    '.5',
    '5.',
    '-1',
    '+1',
    '1e3',
    ' 1',
    '1 ',
    '1\n',
    '0.0000001',
    '1,5',
    '$5',
    'NaN',
    '1234567890123',
  ])('refuses %j', (text) => {
    expect(parseUsd(text)).toBeNull();
  });
});

describe('an amount that is shown', () => {
  test.each([
    [0n, '0.00'],
    [1n, '0.000001'],
    [10n, '0.00001'],
    [1_500_000n, '1.50'],
    [1_230_000n, '1.23'],
    [1_234_000n, '1.234'],
    [-1n, '-0.000001'],
    [-2_500_000n, '-2.50'],
  ])('writes %d micro-USD as %j', (amount, text) => {
    expect(formatUsd(amount)).toBe(text);
  });

  test('is read back as the same amount', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 999_999_999_999_999_999n }), (amount) => {
        expect(parseUsd(formatUsd(amount))).toBe(amount);
      }),
    );
  });
});

test.each([
  [0n, '0.000000'],
  [1_500_000_000_000n, '1.500000'],
  [1n, '0.000000000001'],
  [-1_000_000_000_010n, '-1.00000000001'],
  [-2_000_000n, '-0.000002'],
])('%s pico-USD is %s USD with all its decimals, at least six', (amount, text) => {
  expect(formatExactUsd(picoUsd(amount))).toBe(text);
});

test.each([
  [0, '0 accounts'],
  [1, '1 account'],
  [1n, '1 account'],
  [2_000, '2,000 accounts'],
])('a count of %d says %j', (count, said) => {
  expect(counted(count, 'account')).toBe(said);
});

describe('a rate', () => {
  test('is refused when it is negative, for it would pay the caller', () => {
    expect(() => rate(-1n)).toThrow(RangeError);
    expect(rate(0n)).toBe(0n);
  });

  test('times tokens is the exact cost, far beyond what a float can count', () => {
    expect(costOfTokens(Number.MAX_SAFE_INTEGER, rate(3_000_001n))).toBe(9_007_199_254_740_991n * 3_000_001n);
  });

  test.each([-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53])('does not price %d tokens', (tokens) => {
    expect(() => costOfTokens(tokens, rate(1n))).toThrow(RangeError);
  });
});

describe('a debit and its carry', () => {
  test('are whole micro-USD, and the rest', () => {
    expect(debitWithCarry(picoUsd(999_999n), picoUsd(1n))).toEqual({ amount: 1n, carryAfter: 0n });
    expect(debitWithCarry(picoUsd(1n), picoUsd(2_999_998n))).toEqual({ amount: 2n, carryAfter: 999_999n });
    expect(debitWithCarry(picoUsd(5n), picoUsd(6n))).toEqual({ amount: 0n, carryAfter: 11n });
  });

  test.each([-1n, PICO_PER_MICRO])('begin from no carry of %d', (carry) => {
    expect(() => debitWithCarry(picoUsd(carry), picoUsd(0n))).toThrow(RangeError);
  });

  test('are of no cost below zero', () => {
    expect(() => debitWithCarry(picoUsd(0n), picoUsd(-1n))).toThrow(RangeError);
  });

  test('keep the sum of all debits within one micro-USD of the exact sum, after every debit of any sequence', () => {
    fc.assert(
      fc.property(fc.array(costs, { maxLength: 200, size: 'max' }), (sequence) => {
        let carry = picoUsd(0n);
        let debited = 0n;
        let exact = 0n;
        for (const cost of sequence) {
          const { amount, carryAfter } = debitWithCarry(carry, cost);
          carry = carryAfter;
          debited += amount;
          exact += cost;
          const behind = exact - debited * 1_000_000n;
          expect(behind >= 0n && behind < 1_000_000n).toBe(true);
          expect(behind).toBe(carry);
        }
      }),
    );
  });

  test('never take more than what is held for the cost, and no less than that for some carry', () => {
    fc.assert(
      fc.property(costs, fc.bigInt({ min: 0n, max: 999_999n }), (cost, carry) => {
        expect(debitWithCarry(picoUsd(carry), cost).amount).toBeLessThanOrEqual(mostDebited(cost));
        expect(debitWithCarry(picoUsd(999_999n), cost).amount).toBe(mostDebited(cost));
      }),
    );
  });
});

test('the units are minted without a change of value', () => {
  expect([microUsd(7n), picoUsd(7n)]).toEqual([7n, 7n]);
});

test('an amount is read of its decimal text', () => {
  for (const amount of [0n, 1n, -1n, 10n, 10n ** 40n]) expect(amountOfText(String(amount))).toBe(amount);
});
