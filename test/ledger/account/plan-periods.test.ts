import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { periodAt } from '../../../ledger/account/plan-periods.ts';
import { restOfPeriod } from '../../../ledger/account/proration.ts';
import { beginsIn, monthsAfter } from '../../../ledger/audit/own-plan.ts';
import { ms, usd } from '../../fixtures/ledger/example-account.ts';

const period = (anchor: string, at: string): string => {
  const { startMs, endMs } = periodAt(ms(anchor), ms(at));
  return `${new Date(startMs).toISOString().slice(0, 16)} ${new Date(endMs).toISOString().slice(0, 16)}`;
};

describe('a period', () => {
  it.each([
    ['2026-01-31T09:30:00.000Z', '2026-02-10T00:00:00.000Z', '2026-01-31T09:30 2026-02-28T09:30'],
    ['2026-01-31T09:30:00.000Z', '2026-02-28T09:29:59.999Z', '2026-01-31T09:30 2026-02-28T09:30'],
    ['2026-01-31T09:30:00.000Z', '2026-02-28T09:30:00.000Z', '2026-02-28T09:30 2026-03-31T09:30'],
    ['2026-01-30T00:00:00.000Z', '2026-03-29T23:59:59.999Z', '2026-02-28T00:00 2026-03-30T00:00'],
    ['2027-11-29T00:00:00.000Z', '2028-02-29T00:00:00.000Z', '2028-02-29T00:00 2028-03-29T00:00'],
    ['2028-02-29T12:00:00.000Z', '2029-02-28T12:00:00.000Z', '2029-02-28T12:00 2029-03-29T12:00'],
    ['2026-12-31T23:59:59.999Z', '2027-01-01T00:00:00.000Z', '2026-12-31T23:59 2027-01-31T23:59'],
  ])('from the %s on is at %s %s', (anchor, at, expected) => {
    expect(period(anchor, at)).toBe(expected);
  });

  const instants = fc.integer({ min: ms('2000-01-01T00:00:00.000Z'), max: ms('2100-01-01T00:00:00.000Z') });

  it('has each instant in it, follows the one before without a gap, and begins on the anchor’s day or the month’s last', () => {
    fc.assert(
      fc.property(instants, fc.nat(80 * 365 * 24 * 3_600_000), (anchorMs, laterMs) => {
        const atMs = anchorMs + laterMs;
        const { startMs, endMs } = periodAt(anchorMs, atMs);
        expect(startMs <= atMs && atMs < endMs && startMs >= anchorMs).toBe(true);
        expect(periodAt(anchorMs, endMs).startMs).toBe(endMs);
        if (startMs > anchorMs) expect(periodAt(anchorMs, startMs - 1).endMs).toBe(startMs);
        const [start, anchor] = [new Date(startMs), new Date(anchorMs)];
        expect(start.toISOString().slice(10)).toBe(anchor.toISOString().slice(10));
        const isLast = new Date(startMs + 24 * 3_600_000).getUTCDate() === 1;
        expect(start.getUTCDate() === anchor.getUTCDate() || (isLast && start.getUTCDate() < anchor.getUTCDate())).toBe(
          true,
        );
      }),
    );
  });

  it('is the auditor’s, who has counted it otherwise', () => {
    fc.assert(
      fc.property(instants, fc.nat(80 * 365 * 24 * 3_600_000), (anchorMs, laterMs) => {
        const { startMs, endMs } = periodAt(anchorMs, anchorMs + laterMs);
        const [anchor, start, end] = [anchorMs, startMs, endMs].map((at) => new Date(at).toISOString());
        expect(beginsIn(anchor ?? '', start ?? '')).toBe(start);
        expect(beginsIn(anchor ?? '', monthsAfter(start ?? '', 1))).toBe(end);
      }),
    );
  });
});

describe('a dearer plan for the rest of a period', () => {
  const before = { price: usd(20_000_000), credits: usd(25_000_000) };
  const after = { price: usd(200_000_000), credits: usd(260_000_000) };
  const april = { startMs: ms('2026-04-10T12:00:00.000Z'), endMs: ms('2026-05-10T12:00:00.000Z') };

  it.each([
    ['2026-04-10T12:00:00.000Z', 180_000_000n, 235_000_000n],
    // By a clock that is behind the one by which it began.
    ['2026-04-10T11:59:55.000Z', 180_000_000n, 235_000_000n],
    ['2026-04-10T12:00:00.001Z', 180_000_000n, 235_000_000n],
    ['2026-04-11T12:00:00.000Z', 174_000_000n, 227_166_667n],
    ['2026-04-25T12:00:00.000Z', 90_000_000n, 117_500_000n],
    ['2026-05-10T11:59:59.999Z', 6_000_000n, 7_833_334n],
  ])('costs and gives by days, at %s', (at, price, credits) => {
    expect(restOfPeriod(before, after, april, ms(at))).toEqual({ price, credits });
  });

  it('is rounded once, down to cents of what is charged and up to a micro-USD of what is given', () => {
    const odd = { price: usd(20_010_000), credits: usd(25_000_001) };
    expect(restOfPeriod(before, odd, april, ms('2026-04-11T12:00:00.000Z'))).toEqual({ price: 0n, credits: 1n });
  });
});
