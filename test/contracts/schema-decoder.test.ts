import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { balanceField, grantIdField, laneField, microUsdField, requestIdField } from '../../contracts/event-fields.ts';
import { microUsd } from '../../contracts/money.ts';
import { textDecoderOf } from '../../contracts/schema-decoder.ts';
import { changedAt, placesIn } from '../fixtures/changed-at.ts';

const among = z.codec(z.strictObject({ one: microUsdField }), z.custom<object>(), {
  decode: ({ one }) => ({ another: one }),
  encode: () => ({ one: microUsd(0n) }),
});
const schema = z.strictObject({
  among,
  lane: laneField,
  kind: z.literal('open'),
  name: z.string(),
  id: grantIdField,
  at: z.int().nullable(),
  epoch: z.int().min(0),
  balance: balanceField,
  limit: microUsdField.nullable(),
  models: z.array(z.string()).nullable(),
  last: z.strictObject({ requestId: requestIdField }).nullable(),
  grants: z.array(z.strictObject({ id: z.string(), amount: microUsdField })),
  months: z.record(z.string(), z.strictObject({ keys: z.record(z.string(), microUsdField) })),
});
const EXAMPLE = {
  among: { one: '5' },
  lane: 'fast',
  kind: 'open',
  name: '',
  id: 'g',
  at: null,
  epoch: 0,
  balance: '-12',
  limit: '0',
  models: ['a', ''],
  last: { requestId: `req_${'0a'.repeat(16)}` },
  grants: [{ id: 'g', amount: '7' }],
  months: { '2026-11': { keys: { k: '123456789012345678901234567890', constructor: '1' } } },
};
const decode = textDecoderOf(schema);

/** Each place in the example, changed to each of these, or gone. */
const ODD = [
  null,
  true,
  0,
  -0,
  -1,
  1.5,
  2 ** 53,
  '',
  '0',
  '00',
  '-0',
  '1e3',
  ' 1',
  '1\n',
  'slow',
  [],
  ['x'],
  {},
  { a: '1' },
];
const result = (read: () => unknown): unknown => {
  try {
    return { read: read() };
  } catch (error) {
    return error instanceof Error ? error.message : error;
  }
};
const same = (text: string) =>
  expect(
    result(() => decode(text)),
    text,
  ).toStrictEqual(result(() => schema.parse(JSON.parse(text))));

describe('a text is read by its schema', () => {
  test('to the same value, or the same refusal, whatever stands in one place of it', () => {
    expect(decode(JSON.stringify(EXAMPLE)).balance).toBe(-12n);
    for (const path of placesIn(EXAMPLE))
      for (const to of [...ODD, undefined]) same(JSON.stringify(changedAt(path, EXAMPLE, to) ?? null));
  });

  test('also with a field more, with a name of the prototype’s, or said twice', () => {
    const text = JSON.stringify(EXAMPLE);
    for (const more of ['"surprise":1', '"__proto__":{}', '"constructor":1', '"kind":"closed"', '"kind":"open"'])
      for (const place of ['{"lane', '{"id', '{"keys', '{"k"', '{"requestId'])
        same(text.replace(place, () => `{${more},${place.slice(1)}`));
    same(text.replace('"k":', '"__proto__":'));
    same(text.slice(1));
  });

  test('whatever its amounts and names are', () => {
    const amounts = fc.dictionary(fc.string(), fc.bigInt({ min: -1n, max: 10n ** 70n }).map(String));
    fc.assert(
      fc.property(amounts, (keys) => {
        same(JSON.stringify({ ...EXAMPLE, months: { m: { keys } } }));
      }),
    );
  });
});

const AS_BIGINT = { decode: (text: string) => BigInt(text), encode: (amount: bigint) => `${amount}` };

test.each([
  ['a kind of field', z.strictObject({ at: z.date() })],
  ['an object that may have more', z.object({ at: z.int() })],
  ['a transform', z.array(z.string().transform(Number))],
  ['a check of a text', z.string().max(3)],
  ['a check of a number', z.int().max(3)],
  ['a bound that is left out', z.int().gt(3)],
  ['any number', z.number()],
  ['a check of a list', z.array(z.string()).min(1)],
  ['a key with a check', z.record(z.string().max(1), z.int())],
  ['a kind of key', z.record(z.uuid(), z.int())],
  ['a kind of text', z.uuid()],
  ['a pattern with a place of its own', z.string().regex(/^a$/g)],
  ['a check of an object', z.strictObject({ from: z.int() }).refine(({ from }) => from > 0)],
  ['a check of a record', z.record(z.string(), z.int()).refine(() => false)],
  [
    'a check of what may be null',
    z
      .string()
      .nullable()
      .refine((text) => text !== null),
  ],
  ['a check of one of several', z.enum(['a', 'b']).refine((text) => text === 'a')],
  ['a check of a literal', z.literal('a').refine(() => false)],
  ['a check of what comes out of a text', z.codec(z.string(), z.bigint().min(0n), AS_BIGINT)],
  ['a kind that comes out of a text', z.codec(z.string(), z.literal(7n), AS_BIGINT as never)],
  ['a check behind it', z.codec(z.string(), z.bigint(), AS_BIGINT).refine((amount) => amount > 0n)],
])('%s that the decoder does not know is refused when it is made', (_what, unknown) => {
  expect(() => textDecoderOf(unknown)).toThrow('no decoder for');
});
