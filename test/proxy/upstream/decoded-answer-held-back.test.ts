import { constants, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { decoded, longEnough } from './decoded-answer-scene.ts';

const MIB = 1024 * 1024;
const WHOLE = Buffer.alloc(8 * MIB, 'x');
const ENCODED = gzipSync(WHOLE);
/** Blocks of deflate that hold nothing: what is taken in gives nothing out. */
const NOTHING = Buffer.concat([
  ENCODED.subarray(0, 10),
  Buffer.concat(Array.from({ length: 40_000 }, () => Buffer.from([0, 0, 0, 0xff, 0xff]))),
]);

/** No multiple of what a decoder gives out at once. */
const ODD = Buffer.alloc(40_001, 'x');
/** As long as what it encodes. */
const STORED = gzipSync(ODD, { level: 0 });

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

  it('and breaks off is held back all the same, and breaks off once it is read', async () => {
    const { answer, got } = decoded();
    answer.pause();
    answer.push(ENCODED);
    answer.fail({ kind: 'reset', message: 'it broke off' });
    const ended = expect(got.over).rejects.toThrow('it broke off');
    await longEnough();
    expect(got.bytes).toBe(0);
    answer.resume();
    await ended;
    expect(got.bytes).toBe(WHOLE.length);
  });

  it('and breaks off does so once its last byte is taken, too', async () => {
    const taken: string[] = [];
    const { answer, got } = decoded((bytes) => {
      if (bytes < WHOLE.length) return;
      answer.pause();
      void longEnough().then(() => {
        taken.push('all of it is taken');
        answer.resume();
      });
    });
    answer.push(ENCODED);
    answer.fail({ kind: 'reset', message: 'it broke off' });
    await got.over.catch(({ message }: Error) => taken.push(message));
    expect(taken).toEqual(['all of it is taken', 'it broke off']);
  });

  it('and turns out to be damaged has told what came before that', async () => {
    const { answer, got } = decoded();
    answer.push(STORED.subarray(0, 20_000));
    answer.pause();
    await longEnough();
    answer.push(Buffer.alloc(30_000, 0xff));
    await expect(got.over).rejects.toThrow('not the gzip that it says');
    expect(got.bytes).toBeGreaterThan(19_900);
  });

  it('tells nothing more from then on, however much of it has come, and all of the rest once it is read on', async () => {
    const { answer, got } = decoded((bytes) => {
      if (bytes < MIB) return;
      if (got.asked.length === 0) answer.pause();
    });
    answer.push(ENCODED);
    await expect.poll(() => got.asked, { interval: 1 }).toEqual(['pause']);
    const before = got.bytes;
    await longEnough();
    expect(got.bytes).toBe(before);
    answer.resume();
    expect(got.asked).toEqual(['pause', 'resume']);
    answer.end();
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

  it('and is at fault is held back all the same, also what is made of it again', async () => {
    const content = Buffer.alloc(MIB, 'x');
    const open = gzipSync(content, { finishFlush: constants.Z_SYNC_FLUSH });
    const { answer, got } = decoded();
    answer.push(Buffer.concat([open, Buffer.alloc(9, 0x66)]));
    answer.pause();
    const ended = expect(got.over).rejects.toThrow('not the gzip that it says');
    await longEnough();
    expect(got.bytes).toBe(0);
    answer.resume();
    await ended;
    expect(got.bytes).toBe(content.length);
  });

  it('has its call wait while the decoder has more than it takes, and go on when it has taken it', async () => {
    const { answer, got } = decoded();
    answer.push(NOTHING);
    expect(got.asked).toEqual(['pause']);
    await expect.poll(() => got.asked, { interval: 1 }).toEqual(['pause', 'resume']);
  });

  it('has its call wait, too, while few pieces wait for the decoder, however short they are', async () => {
    const { answer, got } = decoded();
    for (const byte of ENCODED.subarray(0, 3)) {
      answer.push(Buffer.of(byte));
      await Promise.resolve();
    }
    expect(got.asked).toEqual([]);
    answer.push(ENCODED.subarray(3, 4));
    await Promise.resolve();
    expect(got.asked).toEqual(['pause']);
    await expect.poll(() => got.asked, { interval: 1 }).toEqual(['pause', 'resume']);
    answer.push(ENCODED.subarray(4));
    answer.end();
    await got.over;
    expect(got.bytes).toBe(WHOLE.length);
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

describe('an answer that is decoded, and whose call ends', () => {
  it.each([
    ['gzip', STORED.subarray(0, -8)],
    ['deflate', deflateSync(ODD, { finishFlush: constants.Z_SYNC_FLUSH })],
  ] as const)('before its encoding does (%s) has told all that came, held back or not', async (encoding, bytes) => {
    for (const isHeldBack of [false, true]) {
      const { answer, got } = decoded(() => undefined, encoding);
      if (isHeldBack) answer.pause();
      for (const piece of [bytes.subarray(0, 9), bytes.subarray(9)]) answer.push(piece);
      answer.end();
      const ended = expect(got.over).rejects.toThrow(`not the ${encoding} that it says`);
      await longEnough();
      answer.resume();
      await ended;
      expect(got.bytes).toBe(ODD.length);
    }
  });

  it('or fails asks nothing more of its connection: that is another call’s', async () => {
    const failed = { kind: 'reset', message: 'it broke off' } as const;
    for (const over of ['end', 'fail'] as const) {
      const { answer, got } = decoded();
      answer.push(Buffer.concat([NOTHING, ENCODED.subarray(10)]));
      expect(got.asked).toEqual(['pause']);
      if (over === 'end') answer.end();
      else answer.fail(failed);
      answer.pause();
      answer.resume();
      await got.over.catch(({ message }: Error) => expect(message).toBe(failed.message));
      expect([got.bytes, got.asked]).toEqual([WHOLE.length, ['pause']]);
    }
  });

  it('or fails in the very read that brought the last of it has told that', async () => {
    const open = gzipSync('few bytes', { finishFlush: constants.Z_SYNC_FLUSH });
    const { answer, got } = decoded();
    answer.push(open);
    answer.fail({ kind: 'reset', message: 'it broke off' });
    await expect(got.over).rejects.toThrow('it broke off');
    expect(got.bytes).toBe('few bytes'.length);
  });

  it('after its encoding is whole: what comes behind that ends the call, however much it is', async () => {
    for (const behind of [1, MIB]) {
      const { answer, got } = decoded();
      answer.push(Buffer.concat([ENCODED, Buffer.alloc(behind)]));
      await got.over;
      expect([got.bytes, got.asked.at(-1)]).toEqual([WHOLE.length, 'abort']);
      answer.push(Buffer.alloc(1));
      answer.fail({ kind: 'aborted', message: 'the gateway ended the call' });
      expect(got.asked.filter((what) => what === 'abort')).toEqual(['abort']);
    }
  });

  it('with what comes behind its encoding ends as it is: nothing is left of the call to be ended', async () => {
    const { answer, got } = decoded();
    answer.push(Buffer.concat([ENCODED, Buffer.alloc(9)]));
    answer.end();
    await got.over;
    expect([got.bytes, got.asked]).toEqual([WHOLE.length, []]);
  });
});
