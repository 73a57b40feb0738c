import fc from 'fast-check';
import { expect, it } from 'vitest';
import { countTokensRequestSchema, messageRequestSchema } from '../../contracts/messages.ts';
import { isPlainConversation, isPlainRequest } from '../../contracts/messages-by-hand.ts';
import { ODD_OBJECTS } from '../fixtures/odd-objects.ts';

const WRONG = [
  undefined,
  null,
  true,
  0,
  1,
  -1,
  1.5,
  2 ** 53,
  '',
  'x',
  'custom',
  [],
  {},
  [null],
  [{}],
  ['x'],
  ...ODD_OBJECTS,
];
/** A field that is as it should be, nearly always. */
const mostly = (right: fc.Arbitrary<unknown>) =>
  fc.oneof({ weight: 40, arbitrary: right }, { weight: 1, arbitrary: fc.constantFrom(...WRONG) });
const listOf = (one: fc.Arbitrary<unknown>) => mostly(fc.array(mostly(one), { maxLength: 3 }));
const text = fc.string({ minLength: 1, maxLength: 4 });
const object = fc.constantFrom({}, { type: 'auto' });

const block = fc.record({ type: mostly(text), text: text, cache_control: fc.anything() }, { requiredKeys: ['type'] });
const content = mostly(fc.oneof(fc.string(), listOf(block)));
const message = fc.record({
  role: mostly(fc.constantFrom('user', 'assistant', 'system')),
  content,
});
const tool = fc.record(
  {
    type: mostly(fc.constantFrom('custom', 'web_search_20250305')),
    name: mostly(text),
    description: mostly(text),
    input_schema: mostly(object),
    cache_control: mostly(object),
  },
  { requiredKeys: ['name', 'input_schema'] },
);
const required = { model: mostly(text), messages: listOf(message), max_tokens: mostly(fc.integer({ min: 1 })) };
const request = fc.record(
  {
    ...required,
    system: content,
    tools: listOf(tool),
    stream: mostly(fc.boolean()),
    temperature: mostly(fc.constantFrom(0, 0.5, 1)),
    stop_sequences: listOf(text),
    tool_choice: mostly(object),
    speed: mostly(fc.constantFrom('standard', 'fast')),
    metadata: mostly(object),
    thread: fc.anything(),
  },
  { requiredKeys: Object.keys(required) as (keyof typeof required)[] },
);

it.each([
  ['a request', messageRequestSchema, isPlainRequest],
  ['what is to be counted', countTokensRequestSchema, isPlainConversation],
] as const)('takes %s that the schema takes, as it is, and nothing else', (_what, schema, isPlain) => {
  const seen = { taken: 0, refused: 0 };
  fc.assert(
    fc.property(mostly(request), (value) => {
      const { success, data } = schema.safeParse(value);
      expect(isPlain(value)).toBe(success);
      if (success) expect(data).toEqual(value);
      seen[success ? 'taken' : 'refused']++;
    }),
    { numRuns: 1_500 },
  );
  expect(Math.min(seen.taken, seen.refused)).toBeGreaterThan(150);
});
