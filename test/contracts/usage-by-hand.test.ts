import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { EVENT_SCHEMAS } from '../../contracts/events.ts';
import { isAsWritten, isObject, type JsonObject } from '../../contracts/json-object.ts';
import { TOKEN_CLASSES } from '../../contracts/usage.ts';
import { readByHand, storeByHand } from '../../contracts/usage-by-hand.ts';
import { isUsageText, readText } from '../../contracts/usage-text.ts';
import { EXAMPLE_EVENTS } from '../fixtures/ledger/example-events.ts';

/** What zod's schemas make of an event's data and what is done by hand, side by side: data that are right, and nearly so. */
const RIGHT = { numRuns: 200 };
const NEARLY = { numRuns: 1_000 };

const TYPES = ['UsageRecorded', 'CreditsDebited'] as const;
type Type = (typeof TYPES)[number];
const schemaOf = (type: Type): z.ZodType => EVENT_SCHEMAS[type];
const { outcome, source } = EVENT_SCHEMAS.UsageRecorded.shape;

const digits = fc.stringMatching(/^[1-9][0-9]{0,59}$/);
const amount = fc.oneof(fc.constant('0'), digits);
const balance = fc.oneof(
  amount,
  digits.map((of) => `-${of}`),
);
const text = fc.string({ minLength: 1, maxLength: 8 });
const hash = fc.stringMatching(/^[0-9a-f]{64}$/);
const requestId = fc.stringMatching(/^req_[0-9a-f]{32}$/);
const [min, max] = [new Date('2020-01-01'), new Date('2040-01-01')];
const instant = fc.date({ min, max, noInvalidDate: true }).map((of) => of.toISOString());
const use = fc.stringMatching(/^[a-z][a-z0-9_]{0,8}$/);
const whole = fc.maxSafeNat();
const count = whole.map((of) => Math.max(of, 1));
const lane = fc.constantFrom('standard', 'fast');
const tokenClass = fc.constantFrom(...TOKEN_CLASSES);

const STORED: { readonly [T in Type]: fc.Arbitrary<JsonObject> } = {
  UsageRecorded: fc.record({
    ...{ requestId, keyId: text, model: text, lane, billable: fc.boolean(), startedAt: instant, finishedAt: instant },
    ...{ outcome: fc.constantFrom(...outcome.options), source: fc.constantFrom(...source.options) },
    upstream: fc.record({ provider: text, model: text, requestId: fc.option(fc.string()) }),
    tokens: fc.record({ input: whole, output: whole, cacheRead: whole, cacheWrite5m: whole, cacheWrite1h: whole }),
    uses: fc.dictionary(use, count, { maxKeys: 3, noNullPrototype: true }),
    unpriced: fc.array(text, { maxLength: 2 }),
    rateCard: fc.record({ id: text, version: count, hash }),
    hold: fc.option(amount),
  }),
  CreditsDebited: fc
    .record({
      ...{ requestId, keyId: text, model: text, lane, cost: amount, carryBefore: amount, carryAfter: amount },
      ...{ amount, leftOut: amount, uncovered: amount, monthToDateAfter: amount, keyMonthToDateAfter: amount },
      lines: fc.array(fc.record({ tokenClass, tokens: count, rate: amount, cost: amount }), { maxLength: 3 }),
      uses: fc.array(fc.record({ use, count, rate: amount, cost: amount }), { maxLength: 2 }),
      grants: fc.array(fc.record({ grantId: text, amount }), { maxLength: 2 }),
      balanceAfter: balance,
      month: fc.constantFrom('2026-01', '2026-12', '0000-10'),
      leaseId: fc.option(text),
    })
    .map(({ leaseId, ...of }) => (leaseId === null ? of : { ...of, leaseId })),
};

/** What may stand in a field's place, in JSON or in memory. */
const WRONG: readonly unknown[] = [
  ...[null, undefined, true, '', ' ', 'x', [], {}, [null], [{}], { x: 1 }, { requestId: null }],
  ...['0', '00', '01', '-0', '-1', '+1', '1.5', '1e3', '1\n', ' 1', '0x1', '\u0661', '9'.repeat(60), '9'.repeat(61)],
  ...[0, -0, 1, -1, 1.5, 2 ** 53 - 1, 2 ** 53, Number.NaN, Number.POSITIVE_INFINITY],
  ...[0n, 1n, -1n, 10n ** 59n, 10n ** 60n, -(10n ** 60n)],
  ...['standard', 'Fast', 'recovered', 'estimated', 'input', 'toString', 'web_search', 'Web', `a${'b'.repeat(64)}`],
  ...[
    '2026-11',
    '2026-13',
    '2026-11\n',
    '2026-11-05T10:20:30.456Z',
    '2026-11-05T10:20:30Z',
    '2026-02-30T10:20:30.456Z',
  ],
  ...['2026-11-05T10:20:30.456+00:00', '2026-11-05t10:20:30.456z', `req_${'A'.repeat(32)}`, `req_${'a'.repeat(32)}\n`],
];
const NAMES = ['surprise', '__proto__', 'constructor', 'leaseId', 'hold', 'Bad Use'];
const change = fc.record({
  at: fc.nat(),
  kind: fc.constantFrom('replace', 'remove', 'add', 'rename'),
  wrong: fc.constantFrom(...WRONG),
  name: fc.constantFrom(...NAMES),
});
type Change = typeof change extends fc.Arbitrary<infer C> ? C : never;

type Place = readonly [within: Record<string, unknown>, name: string];

/** Every field at any depth, an array's elements too. */
const placesIn = (of: unknown): Place[] =>
  typeof of !== 'object' || of === null
    ? []
    : Object.entries(of).flatMap(([name, value]) => [[of as Record<string, unknown>, name], ...placesIn(value)]);

/** Changed in its place. */
function spoil(of: JsonObject, { at, kind, wrong, name }: Change): void {
  const places = placesIn(of);
  const [within, field] = places[at % places.length] ?? [{}, ''];
  const value = structuredClone(wrong);
  if (kind === 'replace') within[field] = value;
  else if (Array.isArray(within))
    within.splice(Number(field), kind === 'add' ? 0 : 1, ...(kind === 'remove' ? [] : [value]));
  else {
    if (kind !== 'remove')
      Object.defineProperty(within, name, { value, enumerable: true, configurable: true, writable: true });
    if (kind !== 'add' && name !== field) delete within[field];
  }
}

/** The order of fields says nothing. */
const turned = (of: unknown): unknown =>
  Array.isArray(of)
    ? of.map(turned)
    : isObject(of)
      ? Object.fromEntries(
          Object.entries(of)
            .toReversed()
            .map(([name, value]) => [name, turned(value)]),
        )
      : of;

/** As it comes from a log. */
const fromJson = (of: unknown): unknown =>
  JSON.parse(JSON.stringify(of, (_, value) => (typeof value === 'bigint' ? Number(value) : value)));

/** What is no event at all may throw: so does zod. */
function attempt<T>(work: () => T): T | 'thrown' {
  try {
    return work();
  } catch {
    return 'thrown';
  }
}

function isReadAlike(type: Type, data: JsonObject, changes: readonly Change[]): boolean {
  const spoilt = structuredClone(data);
  for (const each of changes) spoil(spoilt, each);
  const stored = fromJson(spoilt);
  const read = readByHand(type, stored);
  if (isUsageText(type, JSON.stringify(stored)) && read === null) return false;
  return read === null || isDeepStrictEqual(schemaOf(type).safeParse(stored), { success: true, data: read });
}

function isStoredAlike(type: Type, data: JsonObject, changes: readonly Change[]): boolean {
  const spoilt = structuredClone(data);
  for (const each of changes) spoil(spoilt, each);
  const stored = attempt(() => storeByHand(type, spoilt));
  if (stored === null) return true;
  const { success, data: byZod } = schemaOf(type).safeEncode(spoilt);
  return stored === 'thrown' ? !success : success && JSON.stringify(byZod) === JSON.stringify(stored);
}

/** Null, or what zod reads; and of a text that says each thing once, as it is written. */
function isTextReadAlike(type: Type, json: string): boolean {
  const read = readText(type, json);
  if (read === null) return true;
  return (
    isAsWritten(json) && isDeepStrictEqual(schemaOf(type).safeParse(JSON.parse(json)), { success: true, data: read })
  );
}

/** What a text may have in the place of a part of it. */
const PIECES = [
  '',
  '0',
  '1',
  '9',
  '-',
  '"',
  '\\',
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
  ' ',
  'null',
  'true',
  '\\u0061',
  '\n',
  '\u2028',
  '\u{1f600}',
];
const damage = fc.record({ at: fc.nat(), length: fc.nat({ max: 3 }), piece: fc.constantFrom(...PIECES) });
type Damage = typeof damage extends fc.Arbitrary<infer D> ? D : never;

const damaged = (json: string, { at, length, piece }: Damage): string => {
  const from = at % (json.length + 1);
  return json.slice(0, from) + piece + json.slice(from + length);
};

/** Without uses, and what has no price. */
const IS_PLAIN = /(?=.*"uses":(?:\{\}|\[\]))(?!.*"unpriced":\[")/;

describe.each(TYPES)('%s', (type) => {
  const schema = schemaOf(type);
  const inMemory = (stored: unknown): JsonObject => schema.parse(fromJson(stored)) as JsonObject;
  const examples = EXAMPLE_EVENTS.filter((event) => event.type === type).map(({ data }) => data as JsonObject);
  /** What is wrong in each field, of each kind. */
  const everyChange = (of: JsonObject): Change[] =>
    placesIn(of).flatMap((_, at) => [
      ...WRONG.map((wrong): Change => ({ at, kind: 'replace', wrong, name: '' })),
      ...NAMES.flatMap((name): Change[] => [
        { at, kind: 'add', wrong: 1, name },
        { at, kind: 'rename', wrong: '1', name },
      ]),
      { at, kind: 'remove', wrong: null, name: '' },
    ]);

  test('is read as zod reads it', () => {
    fc.assert(
      fc.property(STORED[type], fc.boolean(), (data, isTurned) => {
        const stored = fromJson(isTurned ? turned(data) : data);
        expect(readByHand(type, stored)).toStrictEqual(schema.parse(stored));
      }),
      RIGHT,
    );
  });

  test('is stored as zod stores it, byte for byte', () => {
    fc.assert(
      fc.property(STORED[type], fc.boolean(), (stored, isTurned) => {
        const data = (isTurned ? turned(inMemory(stored)) : inMemory(stored)) as JsonObject;
        expect(JSON.stringify(storeByHand(type, data))).toBe(JSON.stringify(z.encode(schema, data)));
      }),
      RIGHT,
    );
  });

  test('is neither read nor stored where zod refuses it, nor as anything else', () => {
    for (const data of examples) {
      const stored = z.encode(schema, data) as JsonObject;
      expect(everyChange(stored).filter((each) => !isReadAlike(type, stored, [each]))).toEqual([]);
      expect(everyChange(data).filter((each) => !isStoredAlike(type, data, [each]))).toEqual([]);
    }
  });

  test('that has several faults is neither read nor stored where zod refuses it, nor as anything else', () => {
    fc.assert(
      fc.property(
        STORED[type],
        fc.array(change, { minLength: 1, maxLength: 3 }),
        (stored, changes) => isReadAlike(type, stored, changes) && isStoredAlike(type, inMemory(stored), changes),
      ),
      NEARLY,
    );
  });

  test('of each form that is written takes the short way', () => {
    for (const data of examples) {
      const stored = storeByHand(type, data);
      expect(stored).not.toBeNull();
      expect(readByHand(type, fromJson(stored))).toStrictEqual(data);
    }
  });

  test('is read from its text as zod reads it, as whatever nearly is one', () => {
    const without = type === 'UsageRecorded' ? { uses: {}, unpriced: [] } : { uses: [] };
    fc.assert(
      fc.property(STORED[type], fc.boolean(), fc.array(damage, { maxLength: 2 }), (data, isPlain, damages) => {
        const json = JSON.stringify(storeByHand(type, inMemory(isPlain ? { ...data, ...without } : data)));
        expect(isTextReadAlike(type, json)).toBe(true);
        expect(isTextReadAlike(type, damages.reduce(damaged, json))).toBe(true);
      }),
      NEARLY,
    );
  });

  test('is read from its text in each form that is written', () => {
    for (const data of examples) {
      const json = JSON.stringify(storeByHand(type, data));
      if (IS_PLAIN.test(json)) expect(readText(type, json)).toStrictEqual(data);
      else expect(readText(type, json)).toBeNull();
      for (const more of [` ${json}`, `${json} `]) expect(readText(type, more)).toBeNull();
    }
  });

  test('is known by its text where nothing in it is rare, and no name stands twice or in another place', () => {
    const plain = examples.map((data) => JSON.stringify(storeByHand(type, data))).filter((text) => IS_PLAIN.test(text));
    expect(plain.length).toBeGreaterThan(0);
    for (const text of plain) {
      expect(isUsageText(type, text)).toBe(true);
      for (const [name, value] of Object.entries(JSON.parse(text))) {
        const field = `${JSON.stringify(name)}:${JSON.stringify(value)}`;
        expect(isUsageText(type, text.replace(field, `${field},${field}`)), field).toBe(false);
        expect(isUsageText(type, `${text.slice(0, -1)},${field}}`), field).toBe(false);
        expect(isUsageText(type, text.replace(field, field.replace(':', ': '))), field).toBe(false);
      }
      for (const field of ['"input":1', '"tokenClass":"input"'])
        expect(
          isUsageText(
            type,
            text.replace('"input":', `${field},"input":`).replace('{"tokenClass"', `{${field},"tokenClass"`),
          ),
        ).toBe(false);
    }
  });
});

test('other types, and what is no object, are left to zod', () => {
  for (const { type, data } of EXAMPLE_EVENTS)
    if (type !== 'UsageRecorded' && type !== 'CreditsDebited') {
      expect(storeByHand(type, data)).toBeNull();
      expect(readByHand(type, data)).toBeNull();
    }
  for (const data of [null, [], 'text', 1, undefined]) expect(readByHand('UsageRecorded', data)).toBeNull();
});
