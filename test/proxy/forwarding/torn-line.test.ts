import { describe, expect, it } from 'vitest';
import { endOfTornLine, lastBytes, NOTHING_SENT } from '../../../proxy/forwarding/torn-line.ts';

const strict = new TextDecoder('utf-8', { fatal: true });
const endOf = (...pieces: Buffer[]): Buffer =>
  endOfTornLine(pieces.reduce((last, piece) => lastBytes(piece, last), NOTHING_SENT));

describe('the end of a line that was torn', () => {
  it.each([
    ['nothing', '', ''],
    ['a whole line', 'data: a\n', ''],
    ['a whole line of CRLF', 'data: a\r\n', ''],
    ['a CR', 'data: a\r', '\n'],
    ['a part of a line', 'data: a', '\n'],
    ['one byte', 'd', '\n'],
    ['a whole character', 'data: 漢', '\n'],
  ])('behind %s', (_what, sent, end) => {
    expect(String(endOf(Buffer.from(sent)))).toBe(end);
  });

  it('makes a whole character of each that is torn, at each of its bytes, in whichever pieces they came', () => {
    // The first and the last of each range of first and second bytes (RFC 3629, 4).
    const characters =
      '\u0080 \u07ff \u0800 \u0fff \u1000 \ucfff \ud000 \ud7ff \ue000 \uffff \u{10000} \u{3ffff} \u{40000} \u{fffff} \u{100000} \u{10ffff}';
    for (const character of characters.split(' ')) {
      const bytes = Buffer.from(character);
      for (let length = 1; length <= bytes.length; length++) {
        const torn = Buffer.concat([Buffer.from('data: "'), bytes.subarray(0, length)]);
        const end = endOf(torn);
        const read = strict.decode(Buffer.concat([torn, end]));
        expect(read).toMatch(/^data: ".\n$/u);
        expect(end).toHaveLength(bytes.length - length + 1);
        for (let at = 1; at < torn.length; at++) expect(endOf(torn.subarray(0, at), torn.subarray(at))).toEqual(end);
        expect(endOf(...[...torn].map((byte) => Buffer.from([byte])))).toEqual(end);
      }
    }
  });

  it.each([[[0x80]], [[0x80, 0x80, 0x80, 0x80, 0x80]], [[0x61, 0xbf]]])(
    'fills up nothing behind what is no UTF-8: %j',
    (bytes) => {
      expect(String(endOf(Buffer.from(bytes)))).toBe('\n');
    },
  );
});
