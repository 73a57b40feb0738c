import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { millitokensOfJson } from '../../../proxy/tokens/json-tokens.ts';
import { millitokensOf } from '../../../proxy/tokens/text-tokens.ts';

describe('a value from JSON', () => {
  it('is worth what its JSON text is', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 6 }), (text) => {
        const value = JSON.parse(text);
        expect(millitokensOfJson(value)).toBe(millitokensOf(JSON.stringify(value)));
      }),
    );
    for (const text of ['[]', '{}', '[[],{}]', '{"a":[1,"é\\"漢",null,true],"__proto__":{"b":-1.5e30}}', '"x"', 'null'])
      expect(millitokensOfJson(JSON.parse(text))).toBe(millitokensOf(text.replace('e30', 'e+30')));
  });

  it('is weighed up to the bound, also within one list or object', () => {
    const most = 10 * millitokensOf('1,');
    const names = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`k${index}`, 1]));
    for (const value of [Array(1_000).fill(1), [Array(1_000).fill(1)], names, { names }]) {
      expect(millitokensOfJson(value, most)).toBeGreaterThanOrEqual(most);
      expect(millitokensOfJson(value, most)).toBeLessThan(most + millitokensOf('{[{"k999":1,'));
    }
  });

  it('is weighed up to the bound, also within one text or name', () => {
    const text = 'x'.repeat(1_000_000);
    const most = 1_000 * millitokensOf('x');
    for (const value of [text, [text], { [text]: 1 }, { name: text }]) {
      expect(millitokensOfJson(value, most)).toBeGreaterThanOrEqual(most);
      expect(millitokensOfJson(value, most)).toBeLessThan(millitokensOf(text) / 10);
    }
  });

  it('is weighed however deep it nests', () => {
    const deep = '{"a":['.repeat(100_000) + ']}'.repeat(100_000);
    expect(millitokensOfJson(JSON.parse(deep))).toBe(millitokensOf(deep));
  });
});
