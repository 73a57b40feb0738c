import { describe, expect, it } from 'vitest';
import { StreamMeter } from '../../../proxy/meter/stream-meter.ts';
import { JsonStringWeight, millitokensOf } from '../../../proxy/tokens/text-tokens.ts';
import { NO_SECRETS } from '../../../proxy/upstream/upstream-words.ts';
import { deltaEvent } from '../meter/streams.ts';
import { TOKEN_SAMPLES } from './token-samples.ts';

const PROSE =
  /^(english|german|french|spanish|portuguese|polish|turkish|russian|ukrainian|greek|arabic|hebrew|hindi|bengali|thai|chinese|japanese|korean|vietnamese|indonesian|chat|legal)/;

describe('what a text is estimated at', () => {
  it.each(TOKEN_SAMPLES)(
    'is no more than tokenizers count, and never far below: $name',
    ({ name, text, o200k, anthropic }) => {
      const estimate = millitokensOf(text) / 1_000;
      expect(estimate).toBeLessThanOrEqual(Math.min(o200k, anthropic));
      expect(estimate / o200k).toBeGreaterThan(PROSE.test(name) ? 0.57 : 1 / 3);
    },
  );

  it('is more than two thirds of what they count over all samples', () => {
    const sum = (of: (sample: (typeof TOKEN_SAMPLES)[number]) => number): number =>
      TOKEN_SAMPLES.reduce((total, sample) => total + of(sample), 0);
    const counted = sum(({ o200k }) => o200k);
    expect(sum(({ text }) => millitokensOf(text) / 1_000) / counted).toBeGreaterThan(0.7);
  });

  it.each(TOKEN_SAMPLES)('is the same in JSON, escaped or not: $name', ({ text }) => {
    const weight = new JsonStringWeight();
    const plain = JSON.stringify(text);
    const ascii = plain.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
    for (const json of [plain, ascii]) {
      const latin1 = Buffer.from(`${json} and more`).toString('latin1');
      weight.weigh(latin1, 1);
      expect(weight.millitokens).toBe(millitokensOf(text));
      expect(weight.end).toBe(Buffer.byteLength(json) - 1);
    }
  });

  it.each(TOKEN_SAMPLES)('does not depend on the deltas that a stream cuts it into: $name', ({ text }) => {
    for (const size of [1, 4, 25]) {
      const meter = new StreamMeter(NO_SECRETS);
      const units = [...text];
      for (let at = 0; at < units.length; at += size)
        meter.push(Buffer.from(deltaEvent(units.slice(at, at + size).join(''))));
      expect(meter.usage.textMillitokens).toBe(millitokensOf(text));
    }
  });

  it('counts nothing for a broken escape', () => {
    const weight = new JsonStringWeight();
    for (const broken of ['\\u', '\\uZZZZ', '\\', '\\u12']) {
      weight.weigh(broken, 0);
      expect(weight.millitokens).toBeLessThanOrEqual(400);
      expect(weight.end).toBe(broken.length);
    }
  });
});
