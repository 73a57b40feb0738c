import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { rate } from '../../contracts/money.ts';
import { type RateCard, rateCard, ratesFrom } from '../../contracts/rate-card.ts';
import { type Lane, NO_TOKENS, TOKEN_CLASSES, type TokenCounts } from '../../contracts/usage.ts';
import { rateUsage } from '../../ledger/rating.ts';

const count = fc.oneof(fc.constant(0), fc.nat({ max: 2_000_000 }), fc.nat({ max: Number.MAX_SAFE_INTEGER }));
const counts = fc.record({ input: count, output: count, cacheRead: count, cacheWrite5m: count, cacheWrite1h: count });
const prices = fc.record({
  input: fc.bigInt({ min: 1n, max: 10n ** 8n }).map((value) => value * 20n),
  output: fc.bigInt({ min: 1n, max: 10n ** 9n }),
});

function cardOf({ input, output }: { input: bigint; output: bigint }, fast: 2 | null = 2): RateCard {
  const rates = ratesFrom(rate(input), rate(output));
  if (rates === null) throw new Error('not billable');
  return rateCard('m', 1, rates, fast);
}
const CARD = cardOf({ input: 3_000_000n, output: 15_000_000n });
/** Without uses. */
const rated = (of: TokenCounts, lane: Lane, card: RateCard) => rateUsage({ tokens: of, lane, uses: {} }, card);
const tokens = (change: Partial<TokenCounts>): TokenCounts => ({ ...NO_TOKENS, ...change });

describe('a usage', () => {
  test.each([
    ['input', 3_000_000_000_000n],
    ['output', 15_000_000_000_000n],
    ['cacheRead', 300_000_000_000n],
    ['cacheWrite5m', 3_750_000_000_000n],
    ['cacheWrite1h', 6_000_000_000_000n],
  ] as const)('of a million tokens of %s costs exactly %d pico-USD', (tokenClass, cost) => {
    expect(rated(tokens({ [tokenClass]: 1_000_000 }), 'standard', CARD).cost).toBe(cost);
  });

  test('of nothing costs nothing and has no lines', () => {
    expect(rated(NO_TOKENS, 'fast', CARD)).toEqual({ cost: 0n, lines: [], uses: [] });
  });

  test('has a line for each class that has tokens, in the order in which they are listed everywhere', () => {
    const { lines } = rated({ cacheWrite1h: 1, output: 2, input: 3, cacheRead: 0, cacheWrite5m: 4 }, 'standard', CARD);
    expect(lines.map(({ tokenClass, tokens: of }) => [tokenClass, of])).toEqual([
      ['input', 3],
      ['output', 2],
      ['cacheWrite5m', 4],
      ['cacheWrite1h', 1],
    ]);
  });

  test('invariant 12: tokens: is partitioned: each token is in exactly one line, and the cost is the sum of the lines', () => {
    fc.assert(
      fc.property(counts, prices, fc.constantFrom('standard', 'fast'), (of, price, lane) => {
        const { cost, lines } = rated(of, lane, cardOf(price));
        const seen = Object.fromEntries(lines.map((line) => [line.tokenClass, line.tokens]));
        for (const name of TOKEN_CLASSES) expect(seen[name] ?? 0).toBe(of[name]);
        expect(new Set(lines.map((line) => line.tokenClass)).size).toBe(lines.length);
        for (const line of lines) expect(line.cost).toBe(BigInt(line.tokens) * line.rate);
        expect(cost).toBe(lines.reduce((sum, line) => sum + line.cost, 0n));
      }),
    );
  });

  test('invariant 13: multipliers: has cache tokens at exactly 10, 125 and 200 percent of the input price', () => {
    fc.assert(
      fc.property(count, prices, (of, price) => {
        const costOf = (name: keyof TokenCounts) => rated(tokens({ [name]: of }), 'standard', cardOf(price)).cost;
        const input = costOf('input');
        expect(costOf('cacheRead') * 100n).toBe(input * 10n);
        expect(costOf('cacheWrite5m') * 100n).toBe(input * 125n);
        expect(costOf('cacheWrite1h') * 100n).toBe(input * 200n);
      }),
    );
  });

  test('invariant 13: multipliers: costs exactly twice in the fast lane, line by line: the lane applies once', () => {
    fc.assert(
      fc.property(counts, prices, (of, price) => {
        const standard = rated(of, 'standard', cardOf(price));
        const fast = rated(of, 'fast', cardOf(price));
        expect(fast.cost).toBe(standard.cost * 2n);
        expect(fast.lines.map((line) => line.cost)).toEqual(standard.lines.map((line) => line.cost * 2n));
        expect(fast.lines.map((line) => line.rate)).toEqual(standard.lines.map((line) => line.rate * 2n));
      }),
    );
  });

  test('costs the standard price where the model cannot run fast, whatever the answer says', () => {
    fc.assert(
      fc.property(counts, prices, (of, price) => {
        const slow = cardOf(price, null);
        expect(rated(of, 'fast', slow)).toEqual(rated(of, 'standard', slow));
      }),
    );
  });

  test('costs the same, streamed or not: nothing but tokens, lane and card decides', () => {
    fc.assert(
      fc.property(counts, prices, (of, price) => {
        const streamed = { ...of, stream: true };
        expect(rated(streamed, 'fast', cardOf(price))).toEqual(rated({ ...of }, 'fast', cardOf(price)));
      }),
    );
  });

  test('invariant 11: rating: is not rounded: two halves cost what the whole costs', () => {
    fc.assert(
      fc.property(counts, counts, prices, (a, b, price) => {
        fc.pre(TOKEN_CLASSES.every((name) => Number.isSafeInteger(a[name] + b[name])));
        const both = Object.fromEntries(TOKEN_CLASSES.map((name) => [name, a[name] + b[name]])) as TokenCounts;
        const card = cardOf(price);
        const [first, second, whole] = [a, b, both].map((of) => rated(of, 'standard', card).cost);
        expect((first ?? 0n) + (second ?? 0n)).toBe(whole);
      }),
    );
  });

  test('has a line for each use that has a price, in the order of their names, at one price in both lanes', () => {
    const card = rateCard('m', 1, CARD.rates, 2, { fetches: rate(0n), searches: rate(10_000_000_000n) });
    const usesOf = (uses: Record<string, number>) =>
      rateUsage({ tokens: tokens({ input: 1 }), lane: 'fast', uses }, card);
    const searches = { use: 'searches', count: 3, rate: 10_000_000_000n, cost: 30_000_000_000n };
    expect(usesOf({ searches: 3 })).toMatchObject({ cost: 30_006_000_000n, uses: [searches] });
    expect(usesOf({ searches: 3, unpriced: 5, fetches: 2 }).uses).toEqual([
      { use: 'fetches', count: 2, rate: 0n, cost: 0n },
      searches,
    ]);
    expect(usesOf({ searches: 0, unpriced: 5 })).toMatchObject({ cost: 6_000_000n, uses: [] });
  });

  test.each([-1, 1.5, Number.NaN])('of %d tokens is a bug, never a price', (wrong) => {
    expect(() => rated(tokens({ input: wrong }), 'standard', CARD)).toThrow(RangeError);
  });
});
