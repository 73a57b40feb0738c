import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { exceededBound, hasMoreValues } from '../../../proxy/request-body/json-scan.ts';
import { body, textOf } from './arbitrary-body.ts';

const exceeds = (text: string, depthMax: number): boolean =>
  exceededBound(Buffer.from(text), { depthMax, valuesMax: 10_000_000 }) === 'depthMax';

function depthOf(value: unknown): number {
  if (value === null || typeof value !== 'object') return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

describe('the depth of a body', () => {
  it('is what the parsed value has', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), fc.constantFrom(0, 2), (value, indent) => {
        const text = JSON.stringify(value, null, indent);
        const depth = depthOf(value);
        expect(exceeds(text, depth)).toBe(false);
        expect(exceeds(text, depth - 1)).toBe(depth > 0);
      }),
      { numRuns: 1_000 },
    );
  });

  it('counts no bracket in a string, however the string is escaped', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('[', '{', '"', '\\', 'x'.repeat(47), ']')), (parts) => {
        const text = JSON.stringify([parts.join('')]);
        expect(exceeds(text, 1)).toBe(false);
        expect(exceeds(`${text.slice(0, -1)},[]]`, 1)).toBe(true);
      }),
      { numRuns: 1_000 },
    );
  });

  it('is bounded for bodies that no parser should see', () => {
    expect(exceeds('['.repeat(513), 512)).toBe(true);
    expect(exceeds(`${'['.repeat(512)}${']'.repeat(512)}`, 512)).toBe(false);
    expect(exceeds(`${'{"a":['.repeat(1_000_000)}`, 512)).toBe(true);
  });

  it.each(['', '"', '"\\', `"${'x'.repeat(47)}\\`, '"abc[[[[', ']]]]'])('of %j, which is no JSON, ends', (text) => {
    expect(exceeds(text, 2)).toBe(false);
  });
});

function valuesOf(value: unknown): number {
  if (value === null || typeof value !== 'object') return 0;
  const inner = Object.values(value);
  return 1 + Math.max(0, inner.length - 1) + inner.reduce<number>((sum, one) => sum + valuesOf(one), 0);
}

it('the values of a body are its brackets and commas outside of strings', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6 }), fc.constantFrom(0, 2), (value, indent) => {
      const text = Buffer.from(JSON.stringify(value, null, indent));
      const count = valuesOf(value);
      expect(exceededBound(text, { depthMax: 100, valuesMax: count })).toBe(null);
      expect(exceededBound(text, { depthMax: 100, valuesMax: count - 1 })).toBe(count > 0 ? 'valuesMax' : null);
      expect([hasMoreValues(text, count), hasMoreValues(text, count - 1)]).toEqual([false, count > 0]);
    }),
    { numRuns: 1_000 },
  );
});

describe('more values than a bound', () => {
  it('are told however deep they stand, and whatever follows is no JSON', () => {
    expect(hasMoreValues(Buffer.from('['.repeat(60_000)), 1_000)).toBe(true);
    expect(hasMoreValues(Buffer.from(`[${',['.repeat(1_000)}"x`), 1_000)).toBe(true);
  });

  it.each(['', '"', '"[[[["', '[[[', '[1] [2],[3],[4]', '}}}}'])('are not in %j', (text) => {
    expect(hasMoreValues(Buffer.from(text), 3)).toBe(false);
  });
});

it('a body as the tests spell it is JSON', () => {
  fc.assert(fc.property(body, (spelled) => typeof JSON.parse(textOf(spelled)) === 'object'));
});
