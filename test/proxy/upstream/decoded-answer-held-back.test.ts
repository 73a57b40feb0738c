import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { DecodedAnswer } from '../../../proxy/upstream/decoded-answer.ts';

const MIB = 1024 * 1024;
const WHOLE = Buffer.alloc(8 * MIB, 'x');
const ENCODED = gzipSync(WHOLE);
/** Blocks of deflate that hold nothing: what is taken in gives nothing out. */
const NOTHING = Buffer.concat([
  ENCODED.subarray(0, 10),
  Buffer.concat(Array.from({ length: 40_000 }, () => Buffer.from([0, 0, 0, 0xff, 0xff]))),
]);

/** An answer that is decoded, with what its receiver got and what was asked of its call. */
function decoded(onData: (bytes: number) => void = () => undefined) {
  const asked: string[] = [];
  const over = Promise.withResolvers<void>();
  const got = { bytes: 0, asked, over: over.promise };
  const answer = new DecodedAnswer(
    'gzip',
    {
      onStart: () => undefined,
      onHead: () => undefined,
      onData: ({ length }) => {
        got.bytes += length;
        onData(got.bytes);
      },
      onEnd: () => over.resolve(),
      onError: ({ message }) => over.reject(new Error(message)),
    },
    {
      pause: () => asked.push('pause'),
      resume: () => asked.push('resume'),
      abort: () => asked.push('abort'),
    },
  );
  return { answer, got };
}

/** Another is decoded from its beginning to its end meanwhile, by the same threads: time enough for what goes on. */
async function longEnough(): Promise<void> {
  const { answer, got } = decoded();
  answer.push(ENCODED);
  answer.end();
  await got.over;
  expect(got.bytes).toBe(WHOLE.length);
}

describe('an answer that is decoded for a client that holds it back', () => {
  it('and breaks off tells all that had come before, also where it is held back again meanwhile', async () => {
    const { answer, got } = decoded((bytes) => {
      if (bytes < WHOLE.length - MIB / 8) return;
      answer.pause();
      void longEnough().then(() => answer.resume());
    });
    answer.push(ENCODED);
    answer.fail({ kind: 'reset', message: 'it broke off' });
    await expect(got.over).rejects.toThrow('it broke off');
    expect(got.bytes).toBe(WHOLE.length);
  });

  it('tells nothing more from then on, however much of it has come, and all of the rest once it is read on', async () => {
    const { answer, got } = decoded((bytes) => {
      if (bytes < MIB) return;
      if (got.asked.length === 0) answer.pause();
    });
    answer.push(ENCODED);
    answer.end();
    await expect.poll(() => got.asked, { interval: 1 }).toEqual(['pause']);
    const before = got.bytes;
    await longEnough();
    expect(got.bytes).toBe(before);
    answer.resume();
    expect(got.asked).toEqual(['pause', 'resume']);
    await got.over;
    expect(got.bytes).toBe(WHOLE.length);
  });

  it('tells nothing where that was so before its first byte came', async () => {
    const { answer, got } = decoded();
    answer.pause();
    answer.push(ENCODED);
    answer.end();
    await longEnough();
    expect(got.bytes).toBe(0);
    answer.resume();
    await got.over;
    expect(got.bytes).toBe(WHOLE.length);
  });

  it('has its call wait while the decoder has more than it takes, and go on when it has taken it', async () => {
    const { answer, got } = decoded();
    answer.push(NOTHING);
    expect(got.asked).toEqual(['pause']);
    await expect.poll(() => got.asked, { interval: 1 }).toEqual(['pause', 'resume']);
  });

  it('has its call wait also when the decoder has taken what it had', async () => {
    const { answer, got } = decoded();
    answer.push(NOTHING);
    answer.pause();
    await longEnough();
    await longEnough();
    expect(got.asked).toEqual(['pause', 'pause']);
    answer.resume();
    expect(got.asked).toEqual(['pause', 'pause', 'resume']);
  });

  it('has its call wait where it is read on before the decoder has taken what it had', async () => {
    const { answer, got } = decoded();
    answer.push(NOTHING);
    answer.pause();
    answer.resume();
    expect(got.asked).toEqual(['pause', 'pause']);
    await expect.poll(() => got.asked, { interval: 1 }).toEqual(['pause', 'pause', 'resume']);
  });
});
