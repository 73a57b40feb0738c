import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CONTROL, NOT_ON_A_LINE, onOneLine, printable, readable } from '../../contracts/printable.ts';

describe('text that others have given', () => {
  it('is shown with what is not seen, or turns what is, as JSON escapes', () => {
    const ranges: readonly (readonly [number, number])[] = [
      [0x00, 0x09],
      [0x0b, 0x1f],
      [0x7f, 0x9f],
      [0x200b, 0x200f],
      [0x2028, 0x202e],
      [0x2060, 0x2069],
      [0xfeff, 0xfeff],
      [0xd800, 0xd800],
    ];
    for (const [from, to] of ranges)
      for (let code = from; code <= to; code++) {
        // One code in these ranges is nothing at all yet.
        if (code === 0x2065) continue;
        const shown = `a\\u${code.toString(16).padStart(4, '0')}b`;
        expect(printable(`a${String.fromCharCode(code)}b`)).toBe(shown);
        expect(onOneLine(`a${String.fromCharCode(code)}b`)).toBe(shown);
      }
    expect(printable('a\u{e0041}b')).toBe('a\\udb40\\udc41b');
  });

  it('keeps the ends of lines where it has several, and escapes them where it stands within one', () => {
    expect(printable('a\nb')).toBe('a\nb');
    expect(onOneLine('a\nb')).toBe('a\\u000ab');
  });

  it('is as it was where everything in it is seen, in any script', () => {
    for (const text of ['Zoë 🙂 № 7', 'עברית', '日本語', '│ ─ … "\\u202e"']) expect(onOneLine(text)).toBe(text);
  });

  it('is the same value where it is JSON', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const json = JSON.stringify({ text });
        expect(JSON.parse(printable(json))).toEqual({ text });
        expect(printable(json)).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u);
      }),
    );
  });
});

it.each([
  ['a control character', '\u0007', true, true, true],
  ['a line separator', '\u2028', true, true, true],
  ['a turned direction', '\u202e', false, true, true],
  ['half a character', '\ud800', false, true, true],
  ['a joiner without width', '\u200d', false, false, true],
  ['a character for private use', '\ue000', false, false, true],
  ['a letter', 'é', false, false, false],
])(
  'what a text may not have differs by where it stands: in a header, on a line of the ledger, in a message: %s',
  (_what, one, ...kept) => {
    const text = `a${one}b`;
    expect([CONTROL.test(text), NOT_ON_A_LINE.test(text), readable(text) === 'a?b']).toEqual(kept);
  },
);
