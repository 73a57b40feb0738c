import fc from 'fast-check';
import { expect, test } from 'vitest';
import { exactNumber, exactNumberSchema } from '../../contracts/exact-number.ts';

const LAST = 2n ** 53n;
const around = fc
  .tuple(fc.constantFrom(0n, LAST, -LAST, 10n ** 30n, -(10n ** 30n)), fc.bigInt({ min: -3n, max: 3n }))
  .map(([near, by]) => near + by);
const amounts = fc.oneof(around, fc.bigInt({ min: -(10n ** 31n), max: 10n ** 31n }));

test('a whole number stands in the JSON text with all its digits, and any reader takes the text', () => {
  fc.assert(
    fc.property(amounts, (amount) => {
      const text = JSON.stringify({ credits: exactNumber(amount) });
      expect(text).toBe(`{"credits":${amount}}`);
      const { credits } = JSON.parse(text) as { credits: unknown };
      expect(credits).toBe(Number(amount));
      expect(exactNumberSchema.safeParse(credits).success).toBe(true);
    }),
  );
});

test.each([0n, 1n, -1n, LAST - 1n, 1n - LAST])('%d, which a float holds, is a number', (amount) => {
  expect(exactNumber(amount)).toBe(Number(amount));
});

test.each([0.5, '1', null])('%j is not a whole number', (value) => {
  expect(exactNumberSchema.safeParse(value).success).toBe(false);
});
