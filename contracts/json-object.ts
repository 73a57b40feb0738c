/** An object of a JSON text, before anything is known of its fields. */
export type JsonObject = { readonly [field: string]: unknown };

export const isObject = (value: unknown): value is JsonObject =>
  value !== null && typeof value === 'object' && !Array.isArray(value);
