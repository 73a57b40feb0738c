import type { z } from 'zod';

type Encode = (value: never) => unknown;

/**
 * What `z.encode` makes of values that fit a schema, its fields in the schema's order, but without its checks, which take most
 * of its time: for what this program has made itself, and writes again and again.
 * @throws Error for a schema with a kind of field that it does not know
 */
export const encoderOf = <Schema extends z.ZodType>(schema: Schema) =>
  (encodeBy(schema) ?? asItIs) as (value: z.output<Schema>) => z.input<Schema>;

const asItIs = (value: unknown): unknown => value;

/** Null where it stands in JSON as in memory. */
function encodeBy(schema: z.core.$ZodType): Encode | null {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  switch (def.type) {
    case 'object':
      return objectBy(def.shape);
    case 'array':
      return within(def.element, (encode) => (list: readonly never[]) => list.map((one) => encode(one)));
    case 'record':
      return within(def.valueType, (encode) => (of: Readonly<Record<string, never>>) => {
        const encoded: Record<string, unknown> = {};
        for (const name of Object.keys(of)) encoded[name] = encode(of[name] as never);
        return encoded;
      });
    case 'nullable':
      return within(def.innerType, (encode) => (value: never) => (value === null ? null : encode(value)));
    case 'pipe':
      if ('reverseTransform' in def) return encodeThrough(def.reverseTransform as unknown as Encode, def.in);
      break;
    case 'string':
    case 'number':
    case 'enum':
    case 'literal':
      return null;
  }
  throw new Error(`no encoder for a field of kind ${def.type}`);
}

function within(schema: z.core.$ZodType, encodeAll: (encode: Encode) => Encode): Encode | null {
  const encode = encodeBy(schema);
  return encode === null ? null : encodeAll(encode);
}

/** What comes out of it may have fields of its own to encode. */
function encodeThrough(reverse: Encode, into: z.core.$ZodType): Encode {
  const encode = encodeBy(into);
  return encode === null ? reverse : (value: never) => encode(reverse(value) as never);
}

function objectBy(shape: Readonly<Record<string, z.core.$ZodType>>): Encode {
  const fields = Object.entries(shape).map(([name, schema]) => [name, encodeBy(schema)] as const);
  return (of: Readonly<Record<string, never>>) => {
    const encoded: Record<string, unknown> = {};
    for (const [name, encode] of fields) encoded[name] = encode === null ? of[name] : encode(of[name] as never);
    return encoded;
  };
}
