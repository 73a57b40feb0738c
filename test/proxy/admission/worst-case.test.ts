import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { debitWithCarry, microUsd, picoUsd, rate } from '../../../contracts/money.ts';
import { rateCard, ratesFrom } from '../../../contracts/rate-card.ts';
import type { Lane, TokenCounts } from '../../../contracts/usage.ts';
import { rateUsage } from '../../../ledger/rating.ts';
import {
  costOfUses,
  dearestInputClass,
  inputTokensBound,
  inputTokensByCount,
  inputTokensGuess,
  maxTokensThatFit,
  usesWithoutPrice,
  worstCase,
} from '../../../proxy/admission/worst-case.ts';
import type { RequestSize } from '../../../proxy/request-body/request-size.ts';

const WINDOW = 200_000;
const NO_USES = picoUsd(0n);
const size = (more: Partial<RequestSize> = {}): RequestSize => ({
  bodyBytes: 1_000,
  images: 0,
  instructionTokens: 0,
  fillsWindow: false,
  rounds: 1,
  isFedFromOutside: false,
  behind: null,
  uses: [],
  usesAnything: false,
  cache: null,
  refused: null,
  ...more,
});

function cardOf(input: bigint, output: bigint, fast: 2 | null) {
  const rates = ratesFrom(rate(input), rate(output));
  if (rates === null) throw new Error(`${input} has no whole cache rates`);
  return rateCard('m', 1, rates, fast);
}

const CARD = cardOf(3_000_000n, 15_000_000n, 2);

describe('the most input tokens that a request can have', () => {
  it('is a token a byte, with a frame', () => {
    expect(inputTokensBound(size(), WINDOW)).toBe(1_000 + 2_048);
  });

  it('adds the most that an image counts as', () => {
    expect(inputTokensBound(size({ images: 2 }), WINDOW)).toBe(1_000 + 2_048 + 2 * 16_384);
  });

  it("is the model's window where that is less", () => {
    expect(inputTokensBound(size({ bodyBytes: 32 * 1024 * 1024 }), WINDOW)).toBe(WINDOW);
    expect(inputTokensBound(size({ bodyBytes: WINDOW }), WINDOW)).toBe(WINDOW);
    // Of a catalog from before windows had a bound.
    expect(inputTokensBound(size({ fillsWindow: true, rounds: 10 }), 2 ** 52)).toBe(Number.MAX_SAFE_INTEGER);
  });

  it("is the model's window where its bytes say nothing, in each round", () => {
    expect(inputTokensBound(size({ bodyBytes: 1, fillsWindow: true }), WINDOW)).toBe(WINDOW);
    expect(inputTokensBound(size({ bodyBytes: 1, fillsWindow: true, rounds: 10 }), WINDOW)).toBe(10 * WINDOW);
  });

  it("adds what instructions come with the provider's own tools", () => {
    expect(inputTokensBound(size({ instructionTokens: 2_048 }), WINDOW)).toBe(1_000 + 2 * 2_048);
  });

  it('by a count is the count with a margin, and never more than without it', () => {
    expect(inputTokensByCount(1_000, WINDOW)).toBe(1_100 + 64);
    expect(inputTokensByCount(7, WINDOW)).toBe(8 + 64);
    expect(inputTokensByCount(1_000, 1_050)).toBe(1_050);
    // What was seen of real counts: the bill is 4% higher.
    fc.assert(
      fc.property(fc.nat({ max: 1_000_000 }), (counted) => {
        expect(inputTokensByCount(counted, 10_000_000)).toBeGreaterThanOrEqual(Math.ceil(counted * 1.04));
      }),
    );
  });

  it('is never below the guess', () => {
    const sizes = fc.record({
      bodyBytes: fc.nat({ max: 33_554_432 }),
      images: fc.nat({ max: 100 }),
      instructionTokens: fc.nat({ max: 20_000 }),
      fillsWindow: fc.boolean(),
      rounds: fc.integer({ min: 1, max: 10 }),
    });
    fc.assert(
      fc.property(sizes, fc.integer({ min: 1, max: 2_000_000 }), (one, window) => {
        expect(inputTokensGuess(one, window)).toBeLessThanOrEqual(inputTokensBound(one, window));
        expect(inputTokensBound(one, window)).toBeLessThanOrEqual(window * one.rounds);
      }),
    );
  });
});

describe('the dearest class that input can be billed as', () => {
  it.each([
    [null, 'none', 'input'],
    [null, 'explicit', 'input'],
    [null, 'automatic', 'cacheWrite5m'],
    ['5m', 'none', 'cacheWrite5m'],
    ['5m', 'explicit', 'cacheWrite5m'],
    ['5m', 'automatic', 'cacheWrite5m'],
    ['1h', 'none', 'cacheWrite1h'],
    ['1h', 'explicit', 'cacheWrite1h'],
    ['1h', 'automatic', 'cacheWrite1h'],
  ] as const)('for a cache of %s and caching %s is %s', (cache, caching, expected) => {
    expect(dearestInputClass(size({ cache }), caching)).toBe(expected);
  });
});

describe('the worst case', () => {
  it('is every input token in its class and every token of max_tokens, rounded up', () => {
    const worst = worstCase(CARD, 'standard', {
      inputTokens: 1_001,
      inputClass: 'cacheWrite1h',
      maxTokens: 7,
      uses: NO_USES,
    });
    expect(worst).toEqual({ input: 1_001n * 6_000_000n, outputRate: 15_000_000n, hold: 6_006n + 105n });
    const tiny = worstCase(cardOf(20n, 1n, null), 'standard', {
      inputTokens: 1,
      inputClass: 'input',
      maxTokens: 1,
      uses: NO_USES,
    });
    expect(tiny.hold).toBe(1n);
  });

  it('doubles in the fast lane, where the model has one', () => {
    const request = { inputTokens: 100, inputClass: 'input', maxTokens: 100, uses: NO_USES } as const;
    expect(worstCase(CARD, 'fast', request).hold).toBe(2n * worstCase(CARD, 'standard', request).hold);
    const slow = cardOf(3_000_000n, 15_000_000n, null);
    expect(worstCase(slow, 'fast', request)).toEqual(worstCase(slow, 'standard', request));
  });

  it('is nothing for a model that costs nothing', () => {
    const request = { inputTokens: 100, inputClass: 'cacheWrite1h', maxTokens: 100, uses: NO_USES } as const;
    expect(worstCase(cardOf(0n, 0n, null), 'fast', request).hold).toBe(0n);
  });
});

/** Prices whose cache rates are whole. */
const card = fc
  .record({
    input: fc.bigInt({ min: 0n, max: 5_000_000n }).map((steps) => steps * 20n),
    output: fc.bigInt({ min: 0n, max: 500_000_000n }),
    fast: fc.constantFrom(2 as const, null),
  })
  .map(({ input, output, fast }) => cardOf(input, output, fast));

const request = fc.record({
  size: fc.record({
    bodyBytes: fc.integer({ min: 1, max: 300_000 }),
    images: fc.nat({ max: 3 }),
    fillsWindow: fc.boolean(),
    rounds: fc.constantFrom(1, 1, 3, 10),
    cache: fc.constantFrom(null, '5m' as const, '1h' as const),
  }),
  caching: fc.constantFrom('none' as const, 'explicit' as const, 'automatic' as const),
  window: fc.integer({ min: 1_000, max: 1_000_000 }),
  maxTokens: fc.integer({ min: 1, max: 128_000 }),
  asked: fc.constantFrom<Lane>('standard', 'fast'),
});

/** How an upstream may split the input: in parts of a thousand. The last two only where the request may write them. */
const split = fc.record({
  used: fc.nat({ max: 1_000 }),
  read: fc.nat({ max: 1_000 }),
  written: fc.nat({ max: 1_000 }),
  hour: fc.nat({ max: 1_000 }),
  output: fc.nat({ max: 1_000 }),
  servedFast: fc.boolean(),
});
const part = (whole: number, thousandths: number): number => Math.floor((whole * thousandths) / 1_000);

describe('what is held', () => {
  it('is never less than what is debited, whatever usage the upstream reports within the bounds and whatever is carried', () => {
    const carry = fc.bigInt({ min: 0n, max: 999_999n });
    fc.assert(
      fc.property(card, request, split, carry, (card, request, split, carry) => {
        const { size, caching, window, maxTokens, asked } = request;
        const bound = inputTokensBound({ instructionTokens: 0, ...size }, window);
        const inputClass = dearestInputClass(size, caching);
        const { hold } = worstCase(card, asked, { inputTokens: bound, inputClass, maxTokens, uses: NO_USES });
        const total = part(bound, split.used);
        const mayWrite = inputClass !== 'input';
        const cacheRead = part(total, split.read);
        const written = mayWrite ? part(total - cacheRead, split.written) : 0;
        const cacheWrite1h = inputClass === 'cacheWrite1h' ? part(written, split.hour) : 0;
        const tokens: TokenCounts = {
          input: total - cacheRead - written,
          output: part(maxTokens, split.output),
          cacheRead,
          cacheWrite5m: written - cacheWrite1h,
          cacheWrite1h,
        };
        const lane: Lane = asked === 'fast' && split.servedFast ? 'fast' : 'standard';
        const debit = debitWithCarry(picoUsd(carry), rateUsage({ tokens, lane, uses: {} }, card).cost);
        expect(debit.amount).toBeLessThanOrEqual(hold);
      }),
      { numRuns: 2_000 },
    );
  });

  it('is reached: a request that uses all of its bounds is debited its hold', () => {
    const bound = inputTokensBound(size({ cache: '1h' }), WINDOW);
    const { hold } = worstCase(CARD, 'fast', {
      inputTokens: bound,
      inputClass: 'cacheWrite1h',
      maxTokens: 50,
      uses: NO_USES,
    });
    const tokens = { input: 0, output: 50, cacheRead: 0, cacheWrite5m: 0, cacheWrite1h: bound };
    expect(debitWithCarry(picoUsd(0n), rateUsage({ tokens, lane: 'fast', uses: {} }, CARD).cost).amount).toBe(hold);
  });
});

describe('what is billed by the use', () => {
  const SEARCH = { name: 'web_search_requests', path: 'tools.0.type', most: 5 };
  const FETCH = { name: 'web_fetch_requests', path: 'tools.1.type', most: 7 };
  const rates = CARD.rates;
  const priced = rateCard('m', 1, rates, null, { web_search_requests: rate(10n), other_requests: rate(3n) });

  it('is held for the most uses, whatever the lane', () => {
    const uses = costOfUses(size({ uses: [SEARCH, SEARCH, FETCH] }), priced);
    expect(uses).toBe(100n);
    expect(costOfUses(size({ uses: [SEARCH], usesAnything: true }), priced)).toBe(100n * 13n);
    expect(costOfUses(size({ usesAnything: true }), priced)).toBe(100n * 13n);
    const request = { inputTokens: 0, inputClass: 'input', maxTokens: 1, uses: picoUsd(3_000_000n) } as const;
    expect(worstCase(CARD, 'fast', request).hold).toBe(3n + 30n);
  });

  it('is never held lower because something unknown stands beside what was asked for', () => {
    const many = { ...SEARCH, most: 80 };
    for (const uses of [[SEARCH], [many], [many, many], [many, FETCH, many]]) {
      const asked = costOfUses(size({ uses }), priced);
      const anything = costOfUses(size({ uses, usesAnything: true }), priced);
      const searches = Math.max(
        100,
        uses.reduce((sum, { name, most }) => sum + (name === SEARCH.name ? most : 0), 0),
      );
      expect([anything >= asked, anything]).toEqual([true, BigInt(searches) * 10n + 300n]);
    }
  });

  it('needs a price, unless the provider gives it for nothing', () => {
    expect(usesWithoutPrice(size({ uses: [FETCH, SEARCH] }), CARD)).toEqual([SEARCH]);
    expect(usesWithoutPrice(size({ uses: [FETCH, SEARCH] }), priced)).toEqual([]);
  });
});

it('the largest max_tokens that fits fits, and one more does not', () => {
  const input = fc.record({ inputTokens: fc.nat({ max: 200_000 }), inputClass: fc.constant('input' as const) });
  fc.assert(
    fc.property(card, input, fc.bigInt({ min: 0n, max: 10n ** 12n }), (card, input, amount) => {
      fc.pre(card.rates.output > 0n);
      const left = microUsd(amount);
      const at = (maxTokens: number) => worstCase(card, 'standard', { ...input, maxTokens, uses: NO_USES });
      const fitting = maxTokensThatFit(at(1), left);
      fc.pre(fitting < BigInt(Number.MAX_SAFE_INTEGER));
      if (fitting >= 1n) expect(at(Number(fitting)).hold).toBeLessThanOrEqual(left);
      expect(at(Number(fitting) + 1).hold).toBeGreaterThan(left);
    }),
    { numRuns: 1_000 },
  );
});
