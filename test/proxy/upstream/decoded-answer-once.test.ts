import { createHook } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';
import { constants, gzipSync } from 'node:zlib';
import { afterAll, describe, expect, it } from 'vitest';
import { LIMITS } from '../../../contracts/limits.ts';
import { decoded, ENCODERS, type Encoder } from './decoded-answer-scene.ts';

/** So many bytes are made at a time, at most, by whatever decodes in this process: how often, Node tells. */
const MADE_BYTES_MAX = constants.Z_DEFAULT_CHUNK;
const TIMES = 100;
const content = Buffer.alloc(TIMES * MADE_BYTES_MAX, 'x');
/** For what is begun, looked at and ended. */
const MORE_TIMES = TIMES / 10;

const decoders = new Set<number>();
let timesMade = 0;
const hook = createHook({
  init(id, type) {
    if (type === 'ZLIB') decoders.add(id);
  },
  before(id) {
    if (decoders.has(id)) timesMade++;
  },
}).enable();
afterAll(() => hook.disable());

function pushed(encoding: Encoder['encoding'], bytes: Buffer): Promise<void> {
  const { answer, got } = decoded(undefined, encoding);
  timesMade = 0;
  answer.push(bytes);
  answer.end();
  return got.over;
}

describe('an answer that is decoded', () => {
  it('is so as far as may be told of it, by whatever decodes it, of however few bytes it is', async () => {
    const far = Buffer.alloc(2 * LIMITS.answerBytesMax);
    const bytes = gzipSync(far);
    expect(bytes.length).toBeLessThan(far.length / 1_000);
    await expect(pushed('gzip', bytes)).rejects.toThrow('decodes to more than');
    expect(timesMade).toBeGreaterThan(LIMITS.answerBytesMax / MADE_BYTES_MAX);
    expect(timesMade).toBeLessThan(LIMITS.answerBytesMax / MADE_BYTES_MAX + 2 * MORE_TIMES);
  });

  it.each(ENCODERS)('by $as is so once', async ({ encoding, encode }) => {
    await pushed(encoding, encode(content));
    expect(timesMade).toBeGreaterThan(TIMES);
    expect(timesMade).toBeLessThan(TIMES + MORE_TIMES);
  });

  it.each(ENCODERS)('by $as in chunks of a byte is decoded by the read, not by the chunk', async (encoder) => {
    const { encoding, encode } = encoder;
    const bytes = encode(randomBytes(20_000));
    const pieces: Buffer[] = [];
    const { answer, got } = decoded((_bytes, piece) => pieces.push(piece), encoding);
    timesMade = 0;
    for (const byte of bytes) answer.push(Buffer.of(byte));
    answer.end();
    await got.over;
    expect(encode(Buffer.concat(pieces)).equals(bytes)).toBe(true);
    expect(timesMade).toBeLessThan(2 * MORE_TIMES);
    expect(got.encoded).toEqual([...bytes].map(() => 1));
  });

  it('and is long while it is encoded is so in pieces that are not short', async () => {
    await pushed('gzip', gzipSync(content, { level: 0 }));
    expect(timesMade).toBeLessThan(7 * TIMES);
  });
});
