import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MEMBER_BYTES_MAX, MEMBERS_BYTES_MAX } from '../../../proxy/meter/limits.ts';
import { ShortMembers } from '../../../proxy/meter/short-members.ts';
import { chunkSizes, chunksOf } from './arbitrary-stream.ts';

function textOf(body: Buffer, sizes: readonly number[]): string {
  const members = new ShortMembers();
  for (const chunk of chunksOf(body, sizes)) members.push(chunk);
  return members.text;
}

describe('the short members of an object', () => {
  it('are all of an object that has no others, in any chunks', () => {
    const object = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 }), { maxKeys: 4 });
    fc.assert(
      fc.property(
        object,
        fc.constantFrom(0, 2),
        fc.constantFrom('', '\ufeff'),
        chunkSizes,
        (value, indent, mark, sizes) => {
          const text = ` ${JSON.stringify(value, null, indent)}\n`;
          expect(JSON.parse(textOf(Buffer.from(mark + text), sizes))).toEqual(JSON.parse(text));
        },
      ),
    );
  });

  it('stand without the long ones, wherever those stand', () => {
    const long = [{ text: '},"é漢\\"]['.repeat(MEMBER_BYTES_MAX / 8) }];
    for (const sizes of [[1 << 20], [4_099]])
      for (const value of [
        { long, a: { b: ['c'] }, d: 'é漢' },
        { a: { b: ['c'] }, long, d: 'é漢' },
        { a: { b: ['c'] }, d: 'é漢', long },
      ])
        expect(JSON.parse(textOf(Buffer.from(JSON.stringify(value)), sizes))).toEqual({ a: { b: ['c'] }, d: 'é漢' });
  });

  it.each([
    '[{"a":1}]',
    '3',
    'null',
    '{"a":1',
    '{"a":1}}',
    '{"a":1} x',
    '{"a":1]',
    '{"a":1}{"a":1}',
    'x{"a":1}',
    '',
    '\ufeff',
  ])('are none of %j', (text) => {
    expect(textOf(Buffer.from(text), [1])).toBe('');
  });

  it('are none where they are too many', () => {
    const many = Object.fromEntries(Array.from({ length: MEMBERS_BYTES_MAX / 10 }, (_, index) => [`key-${index}`, 1]));
    expect(textOf(Buffer.from(JSON.stringify(many)), [65_536])).toBe('');
  });
});
