import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { closedJson } from '../../../proxy/upstream/closed-json.ts';

const NO_BOUNDS = { depthMax: 1_000, valuesMax: 1_000_000 };

describe('the beginning of a JSON text', () => {
  it('can be read wherever it is cut', () => {
    const object = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 }), { maxKeys: 4 });
    fc.assert(
      fc.property(object, fc.constantFrom(0, 2), fc.nat(), (value, indent, place) => {
        const text = JSON.stringify(value, null, indent);
        expect(JSON.parse(closedJson(text, NO_BOUNDS))).toEqual(JSON.parse(text));
        const beginning = text.slice(0, 1 + (place % text.length));
        expect(JSON.parse(closedJson(beginning, NO_BOUNDS))).toBeTypeOf('object');
      }),
    );
  });

  it.each([
    ['{"a":[1,"tex', { a: [1, 'tex'] }],
    ['{"a":"b\\u00e', { a: 'b' }],
    ['{"a":"b\\', { a: 'b' }],
    ['{"a":1,"nam', { a: 1 }],
    ['{"a":1,"name":', { a: 1 }],
    ['{"a":1,"b":12', { a: 1 }],
    ['{"a":[true,fal', { a: [true] }],
    ['{"a":{"b":"}],"},', { a: { b: '}],' } }],
  ])('keeps what is whole: %s', (beginning, value) => {
    expect(JSON.parse(closedJson(beginning, NO_BOUNDS))).toEqual(value);
  });

  it.each([
    ['[[[[1]]]]', { depthMax: 2 }, [[]]],
    ['{"a":[1,{"b":2},3]}', { depthMax: 2 }, { a: [1] }],
    ['[1,2,3,4,5]', { valuesMax: 3 }, [1, 2, 3]],
    ['{"a":[1,2],"b":[[1],2]}', { valuesMax: 6 }, { a: [1, 2], b: [[1]] }],
    ['{"a":"x","b":[1]}', { valuesMax: 2 }, { a: 'x' }],
  ])('ends where it exceeds a bound: %s by %j', (text, bounds, value) => {
    expect(JSON.parse(closedJson(text, { ...NO_BOUNDS, ...bounds }))).toEqual(value);
  });

  it('is nothing where no object begins', () => {
    expect(closedJson('not JSON', NO_BOUNDS)).toBe('');
  });
});
