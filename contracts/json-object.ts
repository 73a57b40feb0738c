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

/** Whether a text is to the byte what is written of its value: no name stands in it twice, and nothing between. */
export const isAsWritten = (text: string): boolean => JSON.stringify(jsonOf(text)) === text;
