import { createHook } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';
import { Gunzip, gzipSync } from 'node:zlib';
import { afterAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { decoded, ENCODERS, type Encoder, flipped, longEnough } from './decoded-answer-scene.ts';

/** What it costs to find a fault: in decoders, in how often they are given something or make a part of it, as Node tells. */
const begun = new Set<number>();
let timesMade = 0;
const hook = createHook({
  init: (id, type) => void (type === 'ZLIB' && begun.add(id)),
  before: (id) => void (begun.has(id) && timesMade++),
}).enable();
afterAll(() => hook.disable());
beforeEach(() => begin());

function begin(): void {
  begun.clear();
  timesMade = 0;
}

const MIB = 1024 * 1024;
/** A piece, at most, is taken in so many steps of so many bytes. */
const STEPS = 64;
/** For what is begun, looked at and ended. */
const MORE_TIMES = 10;

async function cost(bytes: Buffer, encoding: Encoder['encoding'], faults = { areKnown: false }) {
  const pieces: Buffer[] = [];
  const { answer, got } = decoded((_bytes, piece) => pieces.push(piece), encoding, faults);
  begin();
  answer.push(bytes);
  answer.end();
  await got.over.catch(() => undefined);
  return { times: timesMade, decoders: begun.size, pieces, end: got.ends[0] };
}

/** Short enough to be kept until all of it is decoded; the last of them decodes to much. */
const SHORT = [randomBytes(3_000), randomBytes(60_000), Buffer.alloc(20 * MIB, 'x')];
/** As long as what it encodes, and longer than is kept. */
const LONG = randomBytes(300_000);
const LONG_SOUND = gzipSync(LONG, { level: 0 });
const LONG_FAULTY = flipped(LONG_SOUND, LONG_SOUND.length - 8);

describe.each(ENCODERS)('a fault in an answer by $as', ({ encoding, encode, flushed }) => {
  it.each(SHORT)('has it decoded no more than three times, and one piece in few steps', async (content) => {
    const sound = await cost(encode(content), encoding);
    expect([sound.end, sound.decoders]).toEqual(['end', 1]);
    const open = encode(content, flushed);
    const behind = Buffer.concat([open, Buffer.alloc(9, 0x66)]);
    const within = Array.from({ length: 8 }, (_, part) => flipped(open, 3 + Math.floor((part * open.length) / 8)));
    for (const bytes of [behind, ...within]) {
      const { times, decoders, pieces, end: how } = await cost(bytes, encoding);
      expect(times).toBeLessThan(3 * sound.times + 2 * STEPS + MORE_TIMES);
      expect(decoders).toBeLessThan(4);
      expect(pieces.length).toBeLessThan(sound.pieces.length + STEPS + MORE_TIMES);
      expect(how).toBe(`the answer is not the ${encoding} that it says`);
      if (bytes === behind) expect(Buffer.concat(pieces).equals(content)).toBe(true);
    }
  });
});

describe('a fault in an answer that is longer than is kept', () => {
  it('has all others of its provider decoded once more, so that the next takes few steps, too', async () => {
    const faults = { areKnown: false };
    const sound = await cost(LONG_SOUND, 'gzip', faults);
    expect([sound.end, sound.decoders, faults.areKnown]).toEqual(['end', 2, false]);
    const first = await cost(LONG_FAULTY, 'gzip', faults);
    expect([first.decoders, faults.areKnown]).toEqual([2, true]);
    const second = await cost(LONG_FAULTY, 'gzip', faults);
    expect(second.decoders).toBe(3);
    expect(second.times).toBeLessThan(1.5 * sound.times + 2 * STEPS + MORE_TIMES);
    expect(second.pieces.length).toBeLessThan(sound.pieces.length + STEPS + MORE_TIMES);
    for (const { pieces, end: how } of [first, second]) {
      expect(how).toBe('the answer is not the gzip that it says');
      expect(Buffer.concat(pieces).equals(LONG)).toBe(true);
    }
  });
});

describe('what decodes an answer with a fault', () => {
  const waiting: number[] = [];
  let onWrite: (times: number) => void = () => undefined;
  const writeTo = Gunzip.prototype.write;
  const written = vi.spyOn(Gunzip.prototype, 'write').mockImplementation(function (this: Gunzip, ...given: unknown[]) {
    waiting.push(this.writableLength);
    onWrite(waiting.length);
    return Reflect.apply(writeTo, this, given);
  });
  afterAll(() => written.mockRestore());
  beforeEach(() => {
    waiting.length = 0;
    written.mockClear();
    onWrite = () => undefined;
  });

  it.each([
    ['few bytes', flipped(gzipSync(randomBytes(4_000)), 4_003), false],
    ['many', LONG_FAULTY, false],
    ['many, of a provider whose answers had some before', LONG_FAULTY, true],
  ])('is given the next of it when it has taken the one before: of %s', async (_what, bytes, areKnown) => {
    await cost(bytes, 'gzip', { areKnown });
    expect(waiting.length).toBeGreaterThan(STEPS);
    expect(Math.max(...waiting)).toBe(0);
  });

  it.each([
    ['in steps', STEPS / 2, 2],
    ['in single bytes', STEPS + STEPS / 2, 3],
  ])('is given no more once its client has left, while it takes the piece %s', async (_how, times, decoding) => {
    const { answer, got } = decoded();
    onWrite = (asked) => {
      if (asked === times) answer.abort();
    };
    answer.push(flipped(gzipSync(randomBytes(4_000)), 4_003));
    await expect(got.over).rejects.toThrow('the gateway ended the call');
    const decoders = new Set(written.mock.contexts);
    expect([decoders.size, waiting.length]).toEqual([decoding, times]);
    await longEnough();
    expect(written.mock.contexts.slice(times).filter((one) => decoders.has(one))).toEqual([]);
  });
});
