import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { closedJson } from '../../../proxy/meter/closed-json.ts';

describe('the beginning of a JSON text', () => {
  it('can be read wherever it is cut', () => {
    const object = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 }), { maxKeys: 4 });
    fc.assert(
      fc.property(object, fc.constantFrom(0, 2), fc.nat(), (value, indent, place) => {
        const text = JSON.stringify(value, null, indent);
        expect(JSON.parse(closedJson(text))).toEqual(JSON.parse(text));
        const beginning = text.slice(0, 1 + (place % text.length));
        expect(JSON.parse(closedJson(beginning))).toBeTypeOf('object');
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
    expect(JSON.parse(closedJson(beginning))).toEqual(value);
  });

  it('is nothing where no object begins', () => {
    expect(closedJson('not JSON')).toBe('');
  });
});
