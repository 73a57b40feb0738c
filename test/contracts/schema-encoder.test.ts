import fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { laneField, microUsdField, picoUsdField } from '../../contracts/event-fields.ts';
import { microUsd } from '../../contracts/money.ts';
import { encoderOf } from '../../contracts/schema-encoder.ts';

/** Something whose form in memory is another than the one stored. */
const among = z.codec(z.strictObject({ one: microUsdField }), z.custom<bigint>(), {
  decode: ({ one }) => one,
  encode: (one) => ({ one: microUsd(one) }),
});
const amount = fc.bigInt({ min: 0n, max: 10n ** 30n });
const schema = z.strictObject({
  lane: laneField,
  kind: z.literal('open'),
  name: z.string(),
  at: z.int().nullable(),
  models: z.array(z.string()).nullable(),
  balance: microUsdField,
  among,
  limit: picoUsdField.nullable(),
  grants: z.array(z.strictObject({ id: z.string(), amount: microUsdField })),
  months: z.record(
    z.string(),
    z.strictObject({ keys: z.record(z.string(), microUsdField), crossed: z.array(z.string()) }),
  ),
});
const values = fc.record({
  ...{
    months: fc.dictionary(
      fc.string(),
      fc.record({ crossed: fc.array(fc.string()), keys: fc.dictionary(fc.string(), amount) }),
    ),
  },
  ...{
    grants: fc.array(fc.record({ amount, id: fc.string() })),
    limit: fc.option(amount),
    balance: amount,
    among: amount,
  },
  ...{
    models: fc.option(fc.array(fc.string())),
    at: fc.option(fc.nat()),
    name: fc.string(),
    kind: fc.constant('open'),
  },
  lane: fc.constantFrom('standard', 'fast'),
});

test('what fits a schema is encoded as zod encodes it, byte for byte', () => {
  const encode = encoderOf(schema);
  fc.assert(
    fc.property(values, (value) => {
      const fitting = value as z.output<typeof schema>;
      expect(JSON.stringify(encode(fitting))).toBe(JSON.stringify(z.encode(schema, fitting)));
    }),
  );
});

test('a kind of field that it does not know is refused when the encoder is made', () => {
  expect(() => encoderOf(z.strictObject({ at: z.date() }))).toThrow('no encoder for a field of kind date');
  expect(() => encoderOf(z.array(z.string().transform(Number)))).toThrow('no encoder for a field of kind pipe');
});
