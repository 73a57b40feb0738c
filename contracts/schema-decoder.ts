import type { z } from 'zod';

type Decode = (value: never) => unknown;

/** Zod is asked about it, which tells what is amiss, if anything is. */
class NotSureError extends Error {
  override readonly name = 'NotSureError';
}

/**
 * Reads a JSON text as a schema does, to the same value: what it takes, the schema surely takes, and of the rest zod is asked. The
 * objects are those that JSON.parse has made, with amounts in the place of their texts: zod's copies take twice the room, and
 * five times as long.
 * @throws ZodError, SyntaxError when it reads; Error at once for a schema with a kind of field or check that it does not know
 */
export function textDecoderOf<Schema extends z.ZodType>(schema: Schema): (text: string) => z.output<Schema> {
  const decode = decodeBy(schema) as (value: unknown) => z.output<Schema>;
  return (text) => {
    try {
      return decode(JSON.parse(text));
    } catch (error) {
      if (!(error instanceof NotSureError)) throw error;
      return schema.parse(JSON.parse(text));
    }
  };
}

function decodeBy(schema: z.core.$ZodType): Decode {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  if (def.type === 'string' || def.type === 'number') return checked(...checksOf(def));
  if (!hasChecks(def))
    switch (def.type) {
      case 'object':
        if (def.catchall?._zod.def.type === 'never') return objectBy(def.shape);
        break;
      case 'array':
        return arrayBy(decodeBy(def.element));
      case 'record':
        if (!isAny('string', def.keyType)) break;
        return recordBy(decodeBy(def.valueType));
      case 'nullable': {
        const decode = decodeBy(def.innerType);
        return (value: never) => (value === null ? null : decode(value));
      }
      case 'pipe': {
        // What comes out is not looked at.
        if (!('reverseTransform' in def) || !(isAny('bigint', def.out) || def.out._zod.def.type === 'custom')) break;
        const [decode, transform] = [decodeBy(def.in), def.transform as (value: unknown) => unknown];
        return (value: never) => transform(decode(value));
      }
      case 'enum':
        return checked(isOneOf(Object.values(def.entries)));
      case 'literal':
        return checked(isOneOf(def.values));
    }
  throw new Error(`no decoder for a field of kind ${def.type}, or for its checks`);
}

const hasChecks = ({ checks = [] }: { readonly checks?: readonly unknown[] | undefined }): boolean => checks.length > 0;

const isAny = (type: 'string' | 'bigint', { _zod: { def } }: z.core.$ZodType): boolean =>
  def.type === type && !('check' in def) && !hasChecks(def);

function objectBy(shape: Readonly<Record<string, z.core.$ZodType>>): Decode {
  const fields = Object.entries(shape).map(([name, schema]) => [name, decodeBy(schema)] as const);
  return (of: Record<string, unknown>) => {
    // With all its fields, and as many as there are: it has no other.
    if (!isPlain(of) || Object.keys(of).length !== fields.length) throw new NotSureError();
    for (const [name, decode] of fields) {
      const before = of[name];
      const after = decode(before as never);
      if (after !== before) of[name] = after;
    }
    return of;
  };
}

const arrayBy = (decode: Decode) => (list: unknown[]) => {
  if (!Array.isArray(list)) throw new NotSureError();
  for (const [index, value] of list.entries()) list[index] = decode(value as never);
  return list;
};

const recordBy = (decode: Decode) => (of: Record<string, unknown>) => {
  if (!isPlain(of)) throw new NotSureError();
  for (const name of Object.keys(of)) {
    // To zod it is no entry.
    if (name === '__proto__') throw new NotSureError();
    of[name] = decode(of[name] as never);
  }
  return of;
};

const isPlain = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value);

type Check = (value: never) => boolean;

function checked(...checks: readonly Check[]): Decode {
  return (value: never) => {
    for (const check of checks) if (!check(value)) throw new NotSureError();
    return value;
  };
}

const isOneOf = (values: readonly unknown[]): Check => {
  const known = new Set(values);
  return (value) => known.has(value);
};

/** Of a text or a whole number. */
function checksOf(def: z.core.$ZodStringDef | z.core.$ZodNumberDef): Check[] {
  const checks = (def.checks ?? []).map(({ _zod }) => checkOf(_zod.def as CheckDef));
  // A kind of text, or of number, is a check by itself.
  if (def.type === 'number' || 'check' in def) checks.unshift(checkOf(def as CheckDef));
  return def.type === 'number' ? checks : [(value: unknown) => typeof value === 'string', ...checks];
}

interface CheckDef {
  readonly check?: string;
  readonly format?: string;
  readonly pattern?: RegExp;
  readonly value?: number;
  readonly inclusive?: boolean;
}

function checkOf({ check, format, pattern, value: least = 0, inclusive }: CheckDef): Check {
  if (check === 'number_format' && format === 'safeint') return Number.isSafeInteger;
  if (check === 'greater_than' && inclusive === true) return (value: number) => value >= least;
  if (check === 'string_format' && format === 'regex' && pattern !== undefined && !pattern.global && !pattern.sticky)
    return (value: string) => pattern.test(value);
  throw new Error(`no decoder for a check of ${check} ${format ?? ''}`);
}
