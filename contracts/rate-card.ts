import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { text } from './bounded-length.ts';
import { rateField, useNameField } from './event-fields.ts';
import { LIMITS } from './limits.ts';
import { PICO_PER_MICRO, type Rate, rate, USD_READABLE_MAX } from './money.ts';
import { TOKEN_CLASSES, type TokenClass } from './usage.ts';

/** Cache rates in percent of the input rate (interface, 5.1). */
const CACHE_RATE_PERCENT = { cacheRead: 10n, cacheWrite5m: 125n, cacheWrite1h: 200n } as const;
/** The fast lane costs twice the token prices, only when served fast (interface, 5.3). */
export const FAST_MULTIPLIER = 2;

const ratesField = z.strictObject({
  input: rateField,
  output: rateField,
  cacheRead: rateField,
  cacheWrite5m: rateField,
  cacheWrite1h: rateField,
});

/** The largest count of tokens or uses that an answer can report. */
const COUNT_MAX = BigInt(Number.MAX_SAFE_INTEGER);
/** Catalogs from before prices had a bound of their own count too: their cards are in ledgers. */
const DEAREST_TOKEN = (USD_READABLE_MAX * CACHE_RATE_PERCENT.cacheWrite1h * BigInt(FAST_MULTIPLIER)) / 100n;
const DEAREST_USE = USD_READABLE_MAX * PICO_PER_MICRO;
/** In pico-USD: each class and each priced use reported at its largest. */
const DEAREST_COST =
  COUNT_MAX * (BigInt(TOKEN_CLASSES.length) * DEAREST_TOKEN + BigInt(LIMITS.pricedUsesMax) * DEAREST_USE);
// A million million of such costs in one sum, a balance for one, still fit.
assert(DEAREST_COST * 10n ** 12n < 10n ** BigInt(LIMITS.amountDigitsMax), 'an event can hold each cost and their sum');

/** Prices of one model, complete: each token class has a rate. A change of price is a new version. */
export const rateCardField = z.strictObject({
  id: text,
  version: z.int().min(1),
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  rates: ratesField,
  /** What the rates are multiplied with in the fast lane; null where the model has none. */
  fastMultiplier: z.literal(FAST_MULTIPLIER).nullable(),
  /** Pico-USD a use, by its name in `usage.server_tool_use`. The fast lane doubles token prices alone, not these. */
  uses: z.record(useNameField, rateField),
});
export type RateCard = z.infer<typeof rateCardField>;
export type Rates = { readonly [C in TokenClass]: Rate };

/** The five rates from the two priced. Null where a cache rate is not whole: it could not be billed exactly. */
export function ratesFrom(input: Rate, output: Rate): Rates | null {
  const share = (percent: bigint): Rate | null =>
    (input * percent) % 100n === 0n ? rate((input * percent) / 100n) : null;
  const cacheRead = share(CACHE_RATE_PERCENT.cacheRead);
  const cacheWrite5m = share(CACHE_RATE_PERCENT.cacheWrite5m);
  const cacheWrite1h = share(CACHE_RATE_PERCENT.cacheWrite1h);
  if (cacheRead === null || cacheWrite5m === null || cacheWrite1h === null) return null;
  return { input, output, cacheRead, cacheWrite5m, cacheWrite1h };
}

/** Prices a use by name, in pico-USD. */
export type UseRates = RateCard['uses'];

/** With its hash: SHA-256 of id, version, five rates in order, multiplier and, if any, prices a use by name. */
export function rateCard(
  id: string,
  version: number,
  rates: Rates,
  fastMultiplier: typeof FAST_MULTIPLIER | null,
  uses: UseRates = {},
): RateCard {
  const card = { id, version, rates, fastMultiplier, uses };
  return { ...card, hash: hashOf(card) };
}

export const isRateCardIntact = (card: RateCard): boolean => card.hash === hashOf(card);

/** A card without prices a use has the line, and so the hash, that it had before there were any. */
function hashOf({ id, version, rates, fastMultiplier, uses }: Omit<RateCard, 'hash'>): string {
  const priced = sortedUses(uses).map(([name, price]) => [name, price.toString()]);
  const line = [id, version, ...TOKEN_CLASSES.map((name) => rates[name].toString()), fastMultiplier];
  const text = JSON.stringify(priced.length === 0 ? line : [...line, priced]);
  return createHash('sha256').update(text, 'utf8').digest('hex');
}

/** Prices a use in the order of their names, whatever order they were written in. */
export const sortedUses = (uses: UseRates): [name: string, price: Rate][] =>
  Object.entries(uses).sort(([one], [other]) => (one < other ? -1 : 1));

export function areSameUses(one: UseRates, other: UseRates): boolean {
  const [left, right] = [sortedUses(one), sortedUses(other)];
  return (
    left.length === right.length &&
    left.every(([name, price], at) => name === right[at]?.[0] && price === right[at]?.[1])
  );
}

/** Pico-USD a use, the same in each lane; null where the card has no price for it. */
export const rateOfUse = ({ uses }: RateCard, name: string): Rate | null =>
  Object.hasOwn(uses, name) ? (uses[name] ?? null) : null;

/** What one token costs in a lane. A model without a fast lane bills standard prices (interface, 5.3). */
export function rateInLane(card: RateCard, tokenClass: TokenClass, lane: 'standard' | 'fast'): Rate {
  const standard = card.rates[tokenClass];
  return lane === 'fast' && card.fastMultiplier !== null ? rate(standard * BigInt(card.fastMultiplier)) : standard;
}
