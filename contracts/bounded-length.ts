import { z } from 'zod';

/**
 * What has a length that is bounded. Not by `min`, `max` or `length` of zod: those look at whatever has a `length`, also where it
 * is no text and no list, and throw where that length is no number: `{"length":{"toString":1}}`.
 */

/** A text that is not empty. */
export const text = z.string().regex(/./s, 'must not be empty');

interface Bounds {
  readonly min?: number;
  readonly max?: number;
}

export const boundedList = <Entry extends z.ZodType>(entry: Entry, { min = 0, max = Infinity }: Bounds) =>
  z
    .array(entry)
    .refine(({ length }) => length >= min, `must be at least ${min}`)
    .refine(({ length }) => length <= max, `must be at most ${max}`);
