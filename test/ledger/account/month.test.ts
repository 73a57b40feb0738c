import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { endOfMonthMs, monthAfter, monthOf, monthOfInstant } from '../../../ledger/account/month.ts';

describe('the month of an instant', () => {
  test.each([
    ['2026-12-31T23:59:59.999Z', '2026-12'],
    ['2027-01-01T00:00:00.000Z', '2027-01'],
    ['2028-02-29T23:59:59.999Z', '2028-02'],
    ['2028-03-01T00:00:00.000Z', '2028-03'],
    ['2027-03-28T01:30:00.000Z', '2027-03'],
    ['0999-05-01T00:00:00.000Z', '0999-05'],
  ])('%s is %s, in UTC', (instant, month) => {
    expect(monthOf(Date.parse(instant))).toBe(month);
    expect(monthOfInstant(instant)).toBe(month);
  });

  test('is what the instant says in RFC 3339', () => {
    fc.assert(
      fc.property(fc.date({ min: new Date(0), max: new Date('9999-12-31'), noInvalidDate: true }), (date) => {
        expect(monthOf(date.getTime())).toBe(date.toISOString().slice(0, 7));
      }),
    );
  });
});

test('invariant 16: months: the start of the next month is the first instant of another month: no gap, no overlap', () => {
  fc.assert(
    fc.property(fc.date({ min: new Date(0), max: new Date('9999-11-30'), noInvalidDate: true }), (date) => {
      const next = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1);
      expect(monthOf(next - 1)).toBe(monthOf(date.getTime()));
      expect(monthOf(next)).not.toBe(monthOf(date.getTime()));
      expect(endOfMonthMs(monthOf(date.getTime()))).toBe(next);
      expect(monthAfter(monthOf(date.getTime()))).toBe(monthOf(next));
    }),
  );
});
