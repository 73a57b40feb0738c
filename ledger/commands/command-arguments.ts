import { InvalidArgumentError } from 'commander';
import { z } from 'zod';
import { ACCOUNT_ID_PATTERN, type AccountId, accountId } from '../../contracts/ids.ts';
import { type MicroUsd, parseUsd } from '../../contracts/money.ts';

/** Parsers of command-line arguments: typed values, or an error that says what would be right. */
export function accountArgument(text: string): AccountId {
  if (!ACCOUNT_ID_PATTERN.test(text)) throw new InvalidArgumentError('expected an account id such as acct_1a2b3c');
  return accountId(text);
}

const emailSchema = z.email();

export function emailArgument(text: string): string {
  const email = emailSchema.safeParse(text);
  if (!email.success) throw new InvalidArgumentError('expected an e-mail address such as ada@example.com');
  return email.data;
}

export function usdArgument(text: string): MicroUsd {
  const amount = parseUsd(text);
  if (amount === null) throw new InvalidArgumentError('expected USD with at most six decimals, such as 10.00');
  return amount;
}

/** An instant in milliseconds: a date (its first moment in UTC) or RFC 3339. */
export function instantArgument(text: string): number {
  const isInstant = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2}))?$/.test(text);
  const ms = isInstant ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(ms)) throw new InvalidArgumentError('expected a date such as 2027-01-31 or 2027-01-31T12:00:00Z');
  return ms;
}

export function wholeNumberArgument(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(value))
    throw new InvalidArgumentError('expected a whole number of at least 0');
  return value;
}

export const listArgument = (text: string): string[] =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
