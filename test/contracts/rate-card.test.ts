import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { rate } from '../../contracts/money.ts';
import {
  isRateCardIntact,
  type Rates,
  rateCard,
  rateCardField,
  rateInLane,
  ratesFrom,
} from '../../contracts/rate-card.ts';
import { TOKEN_CLASSES } from '../../contracts/usage.ts';

/** Prices that can be billed: the input price is a multiple of 20, so that 10 % and 125 % of it are whole. */
const inputs = fc.bigInt({ min: 0n, max: 10n ** 10n }).map((value) => rate(value * 20n));
const outputs = fc.bigInt({ min: 0n, max: 10n ** 11n }).map(rate);

function ratesOf(input: bigint, output: bigint): Rates {
  const rates = ratesFrom(rate(input), rate(output));
  if (rates === null) throw new Error('not billable');
  return rates;
}
const RATES = ratesOf(3_000_000n, 15_000_000n);
const CARD = rateCard('opal-medium', 2, RATES, 2);

describe('the rates of a model that has two prices', () => {
  test('are 10 % of the input price for cache reads, 125 % and 200 % for writes', () => {
    expect(RATES).toEqual({
      input: 3_000_000n,
      output: 15_000_000n,
      cacheRead: 300_000n,
      cacheWrite5m: 3_750_000n,
      cacheWrite1h: 6_000_000n,
    });
  });

  test('are exact for every price: each rate times 100 is its percentage of the input price', () => {
    fc.assert(
      fc.property(inputs, outputs, (input, output) => {
        const rates = ratesOf(input, output);
        expect(rates.cacheRead * 100n).toBe(input * 10n);
        expect(rates.cacheWrite5m * 100n).toBe(input * 125n);
        expect(rates.cacheWrite1h * 100n).toBe(input * 200n);
        expect([rates.input, rates.output]).toEqual([input, output]);
      }),
    );
  });

  test('are none where a cache rate would not be whole', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 11n }), (input) => {
        expect(ratesFrom(rate(input), rate(0n)) === null).toBe(input % 20n !== 0n);
      }),
    );
  });
});

describe('a rate card', () => {
  test('has the same hash for the same content, and passes its own check and schema', () => {
    expect(rateCard('opal-medium', 2, { ...RATES }, 2)).toEqual(CARD);
    expect(isRateCardIntact(CARD)).toBe(true);
    expect(CARD.hash).toMatch(/^[0-9a-f]{64}$/);
    expect(rateCardField.parse(rateCardField.encode(CARD))).toEqual(CARD);
  });

  test('has a hash that anybody can recompute: SHA-256 of one line', () => {
    // printf '%s' '["m",1,"20","7","2","25","40",null]' | sha256sum
    expect(rateCard('m', 1, ratesOf(20n, 7n), null).hash).toBe(
      '938e807d5eca0ffb8e0706941984333a35ff674a4cf205bba8a369340249beb7',
    );
  });

  test('changes its hash with each of its fields', () => {
    const changed = [
      rateCard('opal-large', 2, RATES, 2),
      rateCard('opal-medium', 3, RATES, 2),
      rateCard('opal-medium', 2, RATES, null),
      ...TOKEN_CLASSES.map((name) => rateCard('opal-medium', 2, { ...RATES, [name]: rate(RATES[name] + 1n) }, 2)),
    ];
    const hashes = [CARD, ...changed].map(({ hash }) => hash);
    expect(new Set(hashes).size).toBe(hashes.length);
  });

  test('is not intact once any field was changed under its hash', () => {
    const tampered = [
      { ...CARD, id: 'other' },
      { ...CARD, version: 3 },
      { ...CARD, fastMultiplier: null },
      { ...CARD, hash: CARD.hash.replace(/^./, (digit) => (digit === '0' ? '1' : '0')) },
      ...TOKEN_CLASSES.map((name) => ({ ...CARD, rates: { ...RATES, [name]: rate(RATES[name] + 1n) } })),
    ];
    for (const card of tampered) expect(isRateCardIntact(card)).toBe(false);
  });
});

describe('a lane', () => {
  test('doubles each rate once in the fast lane', () => {
    for (const name of TOKEN_CLASSES) expect(rateInLane(CARD, name, 'fast')).toBe(RATES[name] * 2n);
  });

  test('leaves standard prices alone', () => {
    for (const name of TOKEN_CLASSES) expect(rateInLane(CARD, name, 'standard')).toBe(RATES[name]);
  });

  test('bills standard prices where the model cannot run fast', () => {
    const slow = rateCard('opal-medium', 2, RATES, null);
    for (const name of TOKEN_CLASSES) expect(rateInLane(slow, name, 'fast')).toBe(RATES[name]);
  });
});

describe('prices a use', () => {
  const SEARCH = { web_search_requests: rate(10_000_000_000n) };

  test('leave the hash of a card without any as it was, byte for byte', () => {
    expect(CARD.hash).toBe('90bb56cf9343e1d8366b7aa0f83e13a6847ac164605b239c32ff1cbb28891857');
    expect(rateCard('opal-medium', 2, RATES, 2, {}).hash).toBe(CARD.hash);
  });

  test('are part of the hash, in the order of their names however they were written', () => {
    const one = rateCard('opal-medium', 2, RATES, 2, { ...SEARCH, a_requests: rate(1n) });
    const other = rateCard('opal-medium', 2, RATES, 2, { a_requests: rate(1n), ...SEARCH });
    expect(one.hash).toBe(other.hash);
    expect(one.hash).not.toBe(rateCard('opal-medium', 2, RATES, 2, SEARCH).hash);
    expect(isRateCardIntact({ ...one, uses: { ...one.uses, a_requests: rate(2n) } })).toBe(false);
    expect(isRateCardIntact({ ...CARD, uses: SEARCH })).toBe(false);
    expect(isRateCardIntact(one)).toBe(true);
  });
});
