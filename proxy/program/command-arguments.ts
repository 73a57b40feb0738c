import { InvalidArgumentError } from 'commander';
import { z } from 'zod';
import { ATTEMPT_ID_PATTERN, productField } from '../../contracts/event-fields.ts';
import { ACCOUNT_ID_PATTERN, type AccountId, type AttemptId, accountId, attemptId } from '../../contracts/ids.ts';
import { LIMITS } from '../../contracts/limits.ts';
import { groupedUsd, type MicroUsd, parseUsd, USD_READABLE_MAX } from '../../contracts/money.ts';
import { NOT_ON_A_LINE } from '../../contracts/printable.ts';
import { streamPrefixField } from '../../contracts/stream-prefix.ts';
import { monthOf } from '../../ledger/account/month.ts';
import { isMissing, MISSING } from '../../ledger/named-file.ts';
import type { StreamPlace } from '../../ledger/statement/stream-range.ts';
import { CommandError, EXIT } from './command-error.ts';

/** Parsers of command-line arguments: typed values, or an error that says what would be right. */
export function accountArgument(text: string): AccountId {
  if (!ACCOUNT_ID_PATTERN.test(text)) throw new InvalidArgumentError('expected an account id such as acct_1a2b3c');
  return accountId(text);
}

export function attemptArgument(text: string): AttemptId {
  if (!ATTEMPT_ID_PATTERN.test(text))
    throw new InvalidArgumentError(
      'expected a payment attempt such as purchase_1a2b3c: 1 to 100 of A-Z a-z 0-9 _ . : -',
    );
  return attemptId(text);
}

/** RFC 5321: the longest that a mail server has to take. */
const EMAIL_CHARS_MAX = 254;
const emailSchema = z.email();

export function emailArgument(text: string): string {
  const email = emailSchema.safeParse(text);
  if (!email.success) throw new InvalidArgumentError('expected an e-mail address such as ada@example.com');
  if (text.length > EMAIL_CHARS_MAX)
    throw new InvalidArgumentError(`expected an e-mail address of at most ${EMAIL_CHARS_MAX} characters`);
  return email.data;
}

export function usdArgument(text: string): MicroUsd {
  const amount = parseUsd(text);
  if (amount === null && /^\d{13,}(?:\.\d{1,6})?$/.test(text))
    throw new InvalidArgumentError(`expected at most ${groupedUsd(USD_READABLE_MAX)} USD`);
  if (amount === null) throw new InvalidArgumentError('expected USD with at most six decimals, such as 10.00');
  return amount;
}

/** To the day, the minute, or the second and its parts. A day that there is not (2027-02-31) is none of them. */
const instantSchema = z.union([
  z.iso.date(),
  z.iso.datetime({ offset: true, precision: -1 }),
  z.iso.datetime({ offset: true }),
]);

/** Before is nothing that was written down; behind, text is in no order of time any more. */
const YEARS = { first: 1970, last: 9999 } as const;
const LAST_MS = Date.UTC(YEARS.last + 1, 0) - 1;

/** @throws InvalidArgumentError */
export function withinYears(atMs: number): number {
  if (atMs >= 0 && atMs <= LAST_MS) return atMs;
  throw new InvalidArgumentError(`expected a time of the years ${YEARS.first} to ${YEARS.last} (UTC)`);
}

/** An instant in milliseconds: a date (its first moment in UTC) or RFC 3339. The one parser of every option that is one. */
export function instantArgument(text: string): number {
  if (instantSchema.safeParse(`${text}Z`).success)
    throw new InvalidArgumentError('expected an offset behind the time, such as the Z of 2027-01-31T12:00:00Z');
  if (!instantSchema.safeParse(text).success)
    throw new InvalidArgumentError('expected a date that there is, such as 2027-01-31 or 2027-01-31T12:00:00Z');
  return withinYears(Date.parse(text));
}

/** A place in a stream: a revision, or when its events were written down. */
export function placeArgument(text: string): StreamPlace {
  if (/^\d+$/.test(text)) return { type: 'revision', revision: wholeNumberArgument(text) };
  return { type: 'instant', atMs: instantArgument(text) };
}

export const MONTH = /^\d{4}-(0[1-9]|1[0-2])$/;

/** A calendar month (UTC). */
export function monthArgument(text: string): string {
  if (!MONTH.test(text)) throw new InvalidArgumentError('expected a month such as 2026-01');
  withinYears(Date.parse(`${text}-01`));
  return text;
}

/** For a month of which there is nothing. @throws CommandError where that is because none of it has been yet */
export function assertBegun(month: string, nowMs: number): void {
  const newest = monthOf(nowMs);
  if (month > newest)
    throw new CommandError(`--month: ${month} has not begun; the newest month that has is ${newest}`, EXIT.usage);
}

export function wholeNumberArgument(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError('expected a whole number of at least 0');
  if (!Number.isSafeInteger(value))
    throw new InvalidArgumentError(`expected a whole number of at most ${Number.MAX_SAFE_INTEGER}`);
  return value;
}

/** An empty one is that of a variable that is not set: what it stands for is then not what was meant. */
export function pathArgument(text: string): string {
  if (text.trim() === '') throw new InvalidArgumentError('expected a path; this one is empty');
  return text;
}

/** @param of the option behind which the path stands; none of an argument. @throws CommandError where nothing is there */
export function assertThere(path: string, of?: string): void {
  if (isMissing(path)) throw new CommandError(`${of === undefined ? '' : `${of} `}${path}: ${MISSING}`, EXIT.usage);
}

const PORT_MAX = 65_535;

export function portArgument(text: string): number {
  const port = wholeNumberArgument(text);
  if (port > PORT_MAX) throw new InvalidArgumentError(`expected a port: a whole number of at most ${PORT_MAX}`);
  return port;
}

/** Without one, something else would be listened at: every address that there is. */
export function hostArgument(text: string): string {
  const host = text.trim();
  if (host === '') throw new InvalidArgumentError('expected an address or a name');
  return host;
}

/** A line of text that stands in the ledger for good. */
function lineArgument(text: string, expected: string): string {
  const line = text.trim();
  if (line === '' || line.length > LIMITS.operatorTextMax || NOT_ON_A_LINE.test(line))
    throw new InvalidArgumentError(
      `expected ${expected}: 1 to ${LIMITS.operatorTextMax} characters on one line, no control characters`,
    );
  return line;
}

/** The one parser of every option `--reason`. */
export const reasonArgument = (text: string): string => lineArgument(text, 'words that say why');

export const nameArgument = (text: string): string => lineArgument(text, 'a name');

const DURATION_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** How long, in milliseconds: `90m`, `24h`, `7d`, or `0`. */
export function durationArgument(text: string): number {
  const [, count = '', unit = ''] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
  const unitMs = DURATION_MS[unit];
  if (text === '0') return 0;
  if (unitMs === undefined) throw new InvalidArgumentError('expected how long, such as 90m, 24h, 7d or 0');
  return Number(count) * unitMs;
}

export function productArgument(text: string): string {
  const product = productField.safeParse(text);
  if (!product.success)
    throw new InvalidArgumentError('expected a product: small letters, digits, - and _, at most 64');
  return product.data;
}

/** Only what a configuration can name: under any other prefix a ledger would be where nothing serves from it, or in another one. */
export function streamPrefixArgument(text: string): string {
  const prefix = streamPrefixField.safeParse(text);
  if (!prefix.success) throw new InvalidArgumentError(prefix.error.issues.map(({ message }) => message).join('; '));
  return prefix.data;
}

/** Each once, in the order in which they stand. */
export function listArgument(text: string): string[] {
  const items = text.split(',').map((item) => item.trim());
  if (items.includes('')) throw new InvalidArgumentError('expected names with commas between, none of them empty');
  return [...new Set(items)];
}
