import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { text } from '../../contracts/bounded-length.ts';
import { describeFault, fieldFaults } from '../../contracts/field-faults.ts';

function faultsOf(schema: z.ZodType, input: unknown): string[] {
  const result = schema.safeParse(input, { reportInput: true });
  return result.success ? [] : fieldFaults(result.error).map(describeFault);
}

describe('a fault', () => {
  test.each([
    [z.object({ a: z.string() }), {}, 'a: required, expected a string'],
    [z.object({ a: z.string() }), { a: null }, 'a: expected a string'],
    [z.object({ a: z.array(z.int()) }), { a: [1, 'x'] }, 'a.1: expected a number'],
    [z.object({ a: z.int() }), { a: 1.5 }, 'a: expected a whole number'],
    [z.object({ a: z.object({}) }), { a: 1 }, 'a: expected an object'],
    [z.object({ a: z.literal('x') }), { a: 'y' }, 'a: expected "x"'],
    [z.object({ a: z.enum(['x', 'y']) }), { a: 'z' }, 'a: expected one of "x", "y"'],
    [z.object({ a: text }), { a: '' }, 'a: must not be empty'],
    [z.object({ a: z.number().min(2) }), { a: 1 }, 'a: must be at least 2'],
    [z.object({ a: z.number().gt(2) }), { a: 2 }, 'a: must be more than 2'],
    [z.object({ a: z.number().max(2) }), { a: 3 }, 'a: must be at most 2'],
    [z.object({ a: z.number().lt(2) }), { a: 2 }, 'a: must be less than 2'],
    [z.strictObject({ a: z.strictObject({}) }), { a: { b: 1 } }, 'a: has no setting named "b"'],
    [z.string().regex(/x/, 'expected an x'), 'y', 'expected an x'],
  ])('of %# is told as its path and what would be right', (schema, input, fault) => {
    expect(faultsOf(schema, input)).toEqual([fault]);
  });

  test('of a union is that of the branch which the input came closest to', () => {
    const either = z.object({ a: z.union([z.string(), z.array(z.object({ b: z.string() }))]) });
    expect(faultsOf(either, { a: [{ b: 'x' }, { b: 7 }] })).toEqual(['a.1.b: expected a string']);
  });

  test('of a union inside a union has the whole path', () => {
    const inner = z.union([z.number(), z.object({ c: z.string() })]);
    const outer = z.object({ a: z.union([z.string(), z.object({ b: inner })]) });
    expect(faultsOf(outer, { a: { b: { c: 7 } } })).toEqual(['a.b.c: expected a string']);
  });

  test('of a union that no branch came close to stands at the union itself', () => {
    const either = z.object({ a: z.union([z.string(), z.array(z.string())], { error: 'expected one or many' }) });
    expect(faultsOf(either, { a: 7 })).toEqual(['a: expected one or many']);
  });

  test('of a setting that there is not names the nearest of that name, or one beside it that is nearly called so', () => {
    const word = z.string().optional();
    const listed = z.strictObject({ name: word, price: word, keyEnv: word, keyFile: word, keynote: word });
    const schema = z.strictObject({
      deep: z.strictObject({ port: z.int() }).optional(),
      far: z.strictObject({ deep: z.strictObject({ port: z.int(), host: z.string() }).optional() }).optional(),
      by: z.record(z.string(), listed).default({}),
      all: z.array(listed).default([]),
      kind: z
        .discriminatedUnion('kind', [
          z.strictObject({ kind: z.literal('a') }),
          z.strictObject({ kind: z.literal('b'), user: z.string() }),
        ])
        .optional(),
    });
    const near = (input: unknown) => {
      const { error } = schema.safeParse(input, { reportInput: true });
      return error === undefined ? [] : fieldFaults(error, schema).map(describeFault);
    };
    expect(near({ port: 1, host: 'x' })).toEqual([
      'has no setting named "port" (is deep.port meant?), "host" (is far.deep.host meant?)',
    ]);
    expect(near({ far: { port: 1 } })).toEqual(['far: has no setting named "port" (is far.deep.port meant?)']);
    expect(near({ by: { x: { nmae: '' } } })).toEqual(['by.x: has no setting named "nmae" (is by.x.name meant?)']);
    expect(near({ all: [{ pric: '' }] })).toEqual(['all.0: has no setting named "pric" (is all.0.price meant?)']);
    expect(near({ by: { x: { key: 'k' } } })).toEqual([
      'by.x: has no setting named "key" (is by.x.keyEnv or by.x.keyFile meant?)',
    ]);
    expect(near({ price: '' })).toEqual(['has no setting named "price" (is by.NAME.price meant?)']);
    for (const none of [{ nothing: 1 }, { kind: { kind: 'a', user: 'x' } }])
      expect(near(none)).toEqual([expect.stringMatching(/has no setting named "\w+"$/)]);
  });

  test('of the whole input has an empty path', () => {
    const { error } = z.object({}).safeParse(7, { reportInput: true });
    expect(error === undefined ? [] : fieldFaults(error)).toEqual([{ path: '', problem: 'expected an object' }]);
  });

  test('never holds the value that was given', () => {
    const schema = z.object({ a: z.enum(['x']), b: z.int(), c: z.string().max(3), d: z.literal('y') });
    const secret = 'sk-svc-do-not-print';
    const told = faultsOf(schema, { a: secret, b: secret, c: secret, d: secret });
    expect(told).toHaveLength(4);
    expect(told.join(' ')).not.toContain(secret);
  });
});
