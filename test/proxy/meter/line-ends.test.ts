import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LineEnds } from '../../../proxy/meter/line-ends.ts';
import { chunkSizes, chunksOf } from './arbitrary-stream.ts';

describe('line ends', () => {
  it('come out as LF, whatever they were and wherever they were cut', () => {
    const text = fc.array(fc.constantFrom('\r', '\n', '\r\n', 'a', 'é')).map((parts) => parts.join(''));
    fc.assert(
      fc.property(text, chunkSizes, (given, sizes) => {
        const lineEnds = new LineEnds();
        const chunks = chunksOf(Buffer.from(given), sizes).map((chunk) => lineEnds.toLf(chunk));
        expect(Buffer.concat(chunks).toString()).toBe(given.replaceAll(/\r\n?/g, '\n'));
      }),
      { numRuns: 1_000 },
    );
  });

  it('cost no copy where there is no CR', () => {
    const chunk = Buffer.from('a\nb\n\n');
    expect(new LineEnds().toLf(chunk)).toBe(chunk);
  });
});
