import { z } from 'zod';
import { text } from './bounded-length.ts';
import type { AccountId, AttemptId, GrantId, KeyId, LeaseId, LedgerId, PaymentId, ProxyId, RequestId } from './ids.ts';
import { LIMITS } from './limits.ts';
import { amountOfText, type MicroUsd, microUsd, type PicoUsd, picoUsd, type Rate, rate } from './money.ts';
import { TOKEN_CLASSES } from './usage.ts';

/**
 * The fields that events are made of. Amounts are decimal strings in the stored JSON, because JSON numbers are floats
 * to most readers, and bigint in memory. What an upstream reports is not ours to bound but by 2^53, so amounts have room
 * for the dearest cost of that: an amount that an event cannot hold would leave its request unsettled.
 */
const WHOLE = `[1-9]\\d{0,${LIMITS.amountDigitsMax - 1}}`;
export const AMOUNT_PATTERN = new RegExp(`^(0|${WHOLE})$`);
const amountText = z.string().regex(AMOUNT_PATTERN, 'expected a whole amount as a decimal string');

const amountOf = <T extends bigint>(mint: (value: bigint) => T) =>
  z.codec(amountText, z.bigint() as unknown as z.ZodType<T, T>, {
    decode: (text) => mint(amountOfText(text)),
    encode: (value) => value.toString(),
  });

/** Micro-USD of at least 0; the direction is in the event's or field's name. */
export const microUsdField = amountOf<MicroUsd>(microUsd);
export const picoUsdField = amountOf<PicoUsd>(picoUsd);
export const rateField = amountOf<Rate>(rate);
/** A sum of counts, to which there is no bound. */
export const countField = amountOf<bigint>((count) => count);

export const BALANCE_PATTERN = new RegExp(`^(0|-?${WHOLE})$`);
/** Micro-USD that may be negative: a balance can be, where an upstream has not respected max_tokens. */
export const balanceField = z.codec(
  z.string().regex(BALANCE_PATTERN),
  z.bigint() as unknown as z.ZodType<MicroUsd, MicroUsd>,
  { decode: (text) => microUsd(amountOfText(text)), encode: (value) => value.toString() },
);

/** What somebody else has charged, which may be less than nothing: a discount, a refund. */
export const signedPicoUsdField = z.codec(
  z.string().regex(BALANCE_PATTERN),
  z.bigint() as unknown as z.ZodType<PicoUsd, PicoUsd>,
  { decode: (text) => picoUsd(amountOfText(text)), encode: (value) => value.toString() },
);

/** A brand is a type only, so the text itself is the value: no conversion, in either direction. */
const branded = <T extends string>(schema: z.ZodString) => schema as unknown as z.ZodType<T, T>;

export const accountIdField = branded<AccountId>(text);
export const keyIdField = branded<KeyId>(text);
export const grantIdField = branded<GrantId>(text);
/** Part of the key under which a provider is asked, whose length is bounded. */
export const ATTEMPT_ID_PATTERN = /^[A-Za-z0-9][A-Za-z0-9_.:-]{0,99}$/;
export const attemptIdField = branded<AttemptId>(z.string().regex(ATTEMPT_ID_PATTERN));
export const paymentIdField = branded<PaymentId>(text);
export const leaseIdField = branded<LeaseId>(text);
export const proxyIdField = branded<ProxyId>(text);
export const ledgerIdField = branded<LedgerId>(z.string().regex(/^ledger_[0-9a-f]{32}$/));
export const REQUEST_ID_PATTERN = /^req_[0-9a-f]{32}$/;
export const requestIdField = branded<RequestId>(z.string().regex(REQUEST_ID_PATTERN));

/** RFC 3339 in UTC, to the millisecond. */
export const instantField = z.iso.datetime({ precision: 3 });
export const INSTANT_PATTERN = z.core.regexes.datetime({ precision: 3 });
export const MONTH_PATTERN = /^\d{4}-(0[1-9]|1[0-2])$/;
/** A calendar month in UTC: "2026-11". */
export const monthField = z.string().regex(MONTH_PATTERN);

/** What an account is of where nobody says; accounts from before there were products are of it. */
export const DEFAULT_PRODUCT = 'gateway';
export const productField = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_-]{0,63}$/, 'expected the name of a product: small letters, digits, - and _, at most 64');

export const tokenClassField = z.enum(TOKEN_CLASSES);
export const laneField = z.enum(['standard', 'fast']);
const count = z.int().min(0);
export const tokenCountsField = z.strictObject({
  input: count,
  output: count,
  cacheRead: count,
  cacheWrite5m: count,
  cacheWrite1h: count,
});

/** What is billed by the use and not by the token, as an answer's `usage.server_tool_use` names it. */
export const USE_NAME_PATTERN = /^[a-z][a-z0-9_]{0,63}$/;
export const useNameField = z.string().regex(USE_NAME_PATTERN);

export const HASH_PATTERN = /^[0-9a-f]{64}$/;
/** The rate card that a usage is priced with, for ever. */
export const rateCardRefField = z.strictObject({
  id: text,
  version: z.int().min(1),
  /** SHA-256 of the card in its canonical form, hexadecimal. */
  hash: z.string().regex(HASH_PATTERN),
});
export type RateCardRef = z.infer<typeof rateCardRefField>;
