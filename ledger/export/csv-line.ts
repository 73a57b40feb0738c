import { onOneLine } from '../../contracts/printable.ts';

/**
 * Before what a spreadsheet takes for a formula at the beginning of a field, in either width. Where decimals have commas, fields
 * may begin behind a semicolon, also in the middle of what is quoted.
 */
const FORMULA = /(^|;)(?=\s*[=+\-@\uff1d\uff0b\uff0d\uff20])/g;
const NUMBER = /^-?\d+(\.\d+)?$/;
/** What most fields are, known by one look: nothing in it needs more. */
const PLAIN = /^(?:\w(?:[\w .:/()-]*[\w.:/()-])?)?$/;

/** A line of RFC 4180. No field is a formula, whoever has chosen its text: what looks like one begins with an apostrophe. */
export const csvLine = (fields: Iterable<string>): string => lineOf(Array.from(fields, csvField));

/** Of fields that are made already. */
export const lineOf = (fields: readonly string[]): string => `${fields.join(',')}\r\n`;

export function csvField(text: string): string {
  if (PLAIN.test(text) || NUMBER.test(text)) return text;
  const line = onOneLine(text);
  const plain = line.replace(FORMULA, "$1'");
  return /[",;]|^\s|\s$/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}
