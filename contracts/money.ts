/**
 * Money is integers. Two units, both bigint:
 *
 *   MicroUsd  1,000,000 = 1.00 USD. What balances, grants, limits and debits are counted in.
 *   PicoUsd   1,000,000 = 1 MicroUsd. What a request's exact cost is counted in.
 *
 * A rate of whole micro-USD per million tokens is the same number as pico-USD per token, so tokens x rate is exact.
 */
export type MicroUsd = bigint & { readonly __unit: 'micro-USD' };
export type PicoUsd = bigint & { readonly __unit: 'pico-USD' };
/** Whole micro-USD per million tokens, which is pico-USD per token. */
export type Rate = bigint & { readonly __unit: 'pico-USD per token' };

export const PICO_PER_MICRO = 1_000_000n;
export const MICRO_PER_USD = 1_000_000n;

/** Of a decimal text. Nothing, which most amounts of an event are, needs no number of its own. */
export const amountOfText = (text: string): bigint => (text === '0' ? 0n : BigInt(text));

export const microUsd = (value: bigint): MicroUsd => value as MicroUsd;
export const picoUsd = (value: bigint): PicoUsd => value as PicoUsd;

/** @throws RangeError when the rate is negative: a negative price would pay the caller. */
export function rate(picoUsdPerToken: bigint): Rate {
  if (picoUsdPerToken < 0n) throw new RangeError(`a rate must not be negative, got ${picoUsdPerToken}`);
  return picoUsdPerToken as Rate;
}

/** The exact cost of a number of tokens. @throws RangeError when tokens is not a whole number of at least 0. */
export function costOfTokens(tokens: number, perToken: Rate): PicoUsd {
  if (!Number.isSafeInteger(tokens) || tokens < 0)
    throw new RangeError(`tokens must be a whole number of at least 0, got ${tokens}`);
  return (BigInt(tokens) * perToken) as PicoUsd;
}

/**
 * What an exact cost takes from the balance now, and what is carried to the account's next debit.
 * The carry is at least 0 and below one micro-USD, so the sum of all debits never differs from the exact sum by more.
 */
export function debitWithCarry(carry: PicoUsd, cost: PicoUsd): { amount: MicroUsd; carryAfter: PicoUsd } {
  if (carry < 0n || carry >= PICO_PER_MICRO) throw new RangeError(`a carry is from 0 to 999999 pico-USD, got ${carry}`);
  if (cost < 0n) throw new RangeError(`a cost must not be negative, got ${cost}`);
  const exact = carry + cost;
  return { amount: (exact / PICO_PER_MICRO) as MicroUsd, carryAfter: (exact % PICO_PER_MICRO) as PicoUsd };
}

/** The most that a cost can take from the balance, whatever the carry: the cost rounded up. */
export function mostDebited(cost: PicoUsd): MicroUsd {
  return ((cost + PICO_PER_MICRO - 1n) / PICO_PER_MICRO) as MicroUsd;
}

/** The most that `parseUsd` reads, and so the dearest price of any catalog that was ever published. */
export const USD_READABLE_MAX = microUsd(999_999_999_999_999_999n);

const USD_PATTERN = /^(\d{1,12})(?:\.(\d{1,6}))?$/;

/** Reads "12.34" (USD, at most six decimals) as micro-USD, without passing through a float; null when it is not of that form. */
export function parseUsd(text: string): MicroUsd | null {
  const match = USD_PATTERN.exec(text);
  if (match === null) return null;
  return microUsd(BigInt(match[1] ?? '0') * MICRO_PER_USD + BigInt((match[2] ?? '').padEnd(6, '0')));
}

/** Writes an exact amount as USD with all its decimals, six to twelve: 1500000000000 is "1.500000", 1 is "0.000000000001". */
export function formatExactUsd(amount: PicoUsd): string {
  const absolute = amount < 0n ? -amount : amount;
  const unit = PICO_PER_MICRO * MICRO_PER_USD;
  const decimals = (absolute % unit)
    .toString()
    .padStart(12, '0')
    .replace(/0{1,6}$/, '');
  return `${amount < 0n ? '-' : ''}${absolute / unit}.${decimals}`;
}

/** Writes micro-USD as USD with two to six decimals: 1500000 is "1.50", 1 is "0.000001". */
export function formatUsd(amount: bigint): string {
  const sign = amount < 0n ? '-' : '';
  const absolute = amount < 0n ? -amount : amount;
  const fraction = (absolute % MICRO_PER_USD)
    .toString()
    .padStart(6, '0')
    .replace(/0{1,4}$/, '');
  return `${sign}${absolute / MICRO_PER_USD}.${fraction}`;
}

/** For people: thousands separators and always six decimals: 1234500000 is "1,234.500000". */
export const groupedUsd = (amount: bigint): string => grouped(amount, MICRO_PER_USD);

/** The same of an exact amount, with its twelve decimals. */
export const groupedExactUsd = (amount: PicoUsd): string => grouped(amount, MICRO_PER_USD * PICO_PER_MICRO);

/** A count for people: 1234567 is "1,234,567". */
export const groupedCount = (count: number | bigint): string => String(count).replaceAll(/\B(?=(?:\d{3})+$)/g, ',');

/** "1 account", "2,000 accounts": of what has a plural in s. */
export const counted = (count: number | bigint, what: string): string =>
  `${groupedCount(count)} ${what}${Number(count) === 1 ? '' : 's'}`;

function grouped(amount: bigint, unit: bigint): string {
  const absolute = amount < 0n ? -amount : amount;
  const decimals = String(unit + (absolute % unit)).slice(1);
  return `${amount < 0n ? '-' : ''}${groupedCount(absolute / unit)}.${decimals}`;
}
