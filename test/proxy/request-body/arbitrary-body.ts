import fc from 'fast-check';

/** JSON objects as a client could spell them: white space anywhere, escapes, keys that stand twice, nested namesakes. */

interface SpelledMember {
  readonly key: string;
  /** Key, colon and value as they stand in the body. */
  readonly text: string;
  readonly valueText: string;
  /** White space before the key and after the value. */
  readonly before: string;
  readonly after: string;
}

interface SpelledBody {
  /** White space around the object on top. */
  readonly start: string;
  readonly end: string;
  /** White space in an object without members. */
  readonly inside: string;
  readonly members: readonly SpelledMember[];
}

export const textOf = ({ start, end, inside, members }: SpelledBody): string => {
  const content = members.map(({ before, text, after }) => before + text + after).join(',');
  return `${start}{${members.length === 0 ? inside : content}}${end}`;
};

export const KEYS = [
  'model',
  'max_tokens',
  'stream',
  'speed',
  'messages',
  '',
  'é',
  '"q\\',
  'MODEL',
  '__proto__',
] as const;
export const key = fc.oneof({ weight: 6, arbitrary: fc.constantFrom(...KEYS) }, { weight: 1, arbitrary: fc.string() });

const space = fc.oneof(
  { weight: 3, arbitrary: fc.constant('') },
  fc.array(fc.constantFrom(' ', '\n', '\r', '\t'), { maxLength: 4 }).map((parts) => parts.join('')),
);

const tricky = fc.constantFrom('{"model":"x"}', '}],{["', '\\', '\\"', '"', ',"model":', '漢字\u{1f600}', '\u0000');
const string = fc
  .array(fc.oneof(tricky, fc.string(), fc.string({ minLength: 40, maxLength: 70 })), { maxLength: 4 })
  .map((parts) => parts.join(''));

/** A string with some of its characters escaped that need not be. */
const spelledString = (value: fc.Arbitrary<string>): fc.Arbitrary<{ value: string; text: string }> =>
  fc.tuple(value, fc.nat(9)).map(([said, escaped]) => {
    const quoted = JSON.stringify(said);
    if (escaped > 3) return { value: said, text: quoted };
    const units = Array.from({ length: said.length }, (_, index) =>
      index % 4 === escaped
        ? `\\u${said.charCodeAt(index).toString(16).padStart(4, '0')}`
        : JSON.stringify(said[index]).slice(1, -1),
    );
    return { value: said, text: `"${units.join('')}"` };
  });

const literal = fc.constantFrom('0', '-1.5e+7', 'true', 'false', 'null');

const { value: valueText } = fc.letrec<{ value: string; array: string; object: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    literal,
    spelledString(string).map(({ text }) => text),
    tie('array'),
    tie('object'),
  ),
  array: fc
    .array(
      fc.tuple(space, tie('value'), space).map((parts) => parts.join('')),
      { maxLength: 3 },
    )
    .map((items) => `[${items.join(',')}]`),
  object: fc
    .array(
      fc
        .tuple(space, spelledString(key), space, space, tie('value'), space)
        .map(([a, name, b, c, value, d]) => `${a}${name.text}${b}:${c}${value}${d}`),
      { maxLength: 3 },
    )
    .map((members) => `{${members.join(',')}}`),
}));

const member: fc.Arbitrary<SpelledMember> = fc
  .tuple(space, spelledString(key), space, space, valueText, space)
  .map(([before, name, b, c, value, after]) => ({
    key: name.value,
    text: `${name.text}${b}:${c}${value}`,
    valueText: value,
    before,
    after,
  }));

export const body: fc.Arbitrary<SpelledBody> = fc.record({
  start: space,
  end: space,
  inside: space,
  members: fc.array(member, { maxLength: 7 }),
});
