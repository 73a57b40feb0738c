/** An object of a JSON text, before anything is known of its fields. */
export type JsonObject = { readonly [field: string]: unknown };

export const isObject = (value: unknown): value is JsonObject =>
  value !== null && typeof value === 'object' && !Array.isArray(value);

/** Undefined for what is no JSON. (The parser's message would quote the text, which may hold secrets.) */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

type Reviver = (this: unknown, key: string, value: unknown, context: { readonly source?: string }) => unknown;
/** TypeScript's own library does not have the third argument yet; Node has. */
const parseBy = JSON.parse as (text: string, reviver: Reviver) => unknown;

/**
 * The same, with each number as `numberOf` makes it of its value and of how the text spells it, which the value alone does
 * not tell: 9007199254740993 is read as ...992, and 1e400 as Infinity. Takes several times as long.
 */
export function jsonWithNumbers(text: string, numberOf: (value: number, spelling: string) => unknown): unknown {
  try {
    return parseBy(text, (_key, value, { source }) =>
      typeof value === 'number' ? numberOf(value, source ?? String(value)) : value,
    );
  } catch {
    return undefined;
  }
}

/** Whether a text is to the byte what is written of its value: no name stands in it twice, and nothing between. */
export const isAsWritten = (text: string): boolean => JSON.stringify(jsonOf(text)) === text;
