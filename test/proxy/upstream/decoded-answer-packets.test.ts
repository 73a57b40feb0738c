import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { text } from '../../upstream/content.ts';
import { byteByByte, cutAt, cutAtRandom, oneChunk } from '../../upstream/rechunk.ts';
import { streamEvents } from '../../upstream/stream-events.ts';
import { decoded, ENCODERS, type Encoder, faultyEnds, flipped } from './decoded-answer-scene.ts';

/** Wherever the encoding is at fault, what came before that is told, however the bytes fall into packets. */
const tokens = { input: 1_000, output: 40, cacheRead: 0, cacheWrite5m: 0, cacheWrite1h: 0 };
const blocks = [text('one ', 'two ', 'three ', 'four')];
const stream = Buffer.concat(streamEvents({ tokens, blocks }));

const KIB = 1024;
/** Empty stored blocks, each whole. */
const nothing = (bytes: number): Buffer => Buffer.alloc(5 * Math.floor(bytes / 5), Buffer.from('000000ffff', 'hex'));

const RANDOM_CUTS = 4;
const cutsOf = (bytes: Buffer): Buffer[][] => [
  oneChunk([bytes]),
  byteByByte([bytes]),
  ...[1, 2, 4, 8, 9, 10, 60].map((fromEnd) => cutAt([bytes], [bytes.length - fromEnd])),
  ...Array.from({ length: RANDOM_CUTS }, (_, seed) => cutAtRandom([bytes], seed + 1)),
];

async function decode(encoding: Encoder['encoding'], packets: readonly Buffer[]) {
  const pieces: Buffer[] = [];
  const { answer, got } = decoded((_bytes, piece) => pieces.push(piece), encoding);
  for (const packet of packets) {
    answer.push(packet);
    // What comes of one read is one piece.
    await Promise.resolve();
  }
  answer.end();
  const ended = await got.over.then(
    () => 'whole',
    ({ message: fault }: Error) => fault,
  );
  return { content: String(Buffer.concat(pieces)), ended };
}

describe.each(ENCODERS)('an answer by $as', (encoder) => {
  const { encoding, encode } = encoder;
  it('may have half a MiB that decodes to nothing, and eight times what it decodes to, and is broken by more', async () => {
    const content = randomBytes(20_000);
    for (const [brought, least] of [
      [Buffer.alloc(0), 512 * KIB - 100],
      [content, 512 * KIB + 7 * content.length - 100],
    ] as const) {
      const begun = encode(brought, encoder.flushed);
      const enough = await decode(encoding, [begun, nothing(least)]);
      expect(enough.ended).toBe(`the answer is not the ${encoding} that it says`);
      const more = await decode(encoding, [begun, nothing(least + 2 * content.length)]);
      expect(more.ended).toMatch(/^the answer decodes to next to nothing of \d+ bytes$/);
      for (const got of [enough, more]) expect(got.content).toBe(String(brought));
    }
  });

  it.each(faultyEnds(stream, encoder))('with %s is told whole', async (_how, bytes) => {
    const [first, ...others] = await Promise.all(cutsOf(bytes).map((cut) => decode(encoding, cut)));
    expect(first?.content).toBe(String(stream));
    for (const other of others) expect(other).toEqual(first);
  });

  it('with a fault anywhere is told as far as there is none', async () => {
    const whole = encode(stream);
    for (let at = 1; at < whole.length; at += 17) {
      const [first, ...others] = await Promise.all(cutsOf(flipped(whole, at)).map((cut) => decode(encoding, cut)));
      for (const other of others) expect(other).toEqual(first);
    }
  });
});

it('of a long packet with a fault those before it are told in few pieces', async () => {
  const pieces: Buffer[] = [];
  const { answer, got } = decoded((_bytes, piece) => pieces.push(piece));
  const content = Buffer.alloc(300_000, stream);
  const stored = gzipSync(content, { level: 0 });
  answer.push(flipped(stored, stored.length - 8));
  await expect(got.over).rejects.toThrow('not the gzip that it says');
  expect(Buffer.concat(pieces).equals(content)).toBe(true);
  expect(pieces.length).toBeLessThan(4_200);
});
