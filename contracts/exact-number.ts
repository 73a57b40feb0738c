import { z } from 'zod';

/** Digits that stand in the JSON text as they are, made by `JSON.rawJSON`. */
interface ExactDigits {
  readonly rawJSON: string;
}

/**
 * A whole number that loses nothing on its way into a JSON text, of whatever size. A JSON text has no bound to its
 * numbers; readers have: those who read into a float see the nearest one above 9,007,199,254,740,991, and never an error.
 */
type ExactNumber = number | ExactDigits;

/** TypeScript's own library does not have it yet; Node has. */
const rawJson = (JSON as unknown as { readonly rawJSON: (text: string) => ExactDigits }).rawJSON;

export function exactNumber(value: bigint): ExactNumber {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : rawJson(value.toString());
}

/** What a reader makes of it: a number. */
export const exactNumberSchema: z.ZodType<number, ExactNumber> = z
  .number()
  .refine((value) => Number.isInteger(value), 'expected a whole number') as unknown as z.ZodType<number, ExactNumber>;
