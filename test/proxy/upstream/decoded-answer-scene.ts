import { constants, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { expect } from 'vitest';
import { DecodedAnswer, type EncodingFaults } from '../../../proxy/upstream/decoded-answer.ts';

type Encoding = ConstructorParameters<typeof DecodedAnswer>[0];

/** An answer that is decoded, with what its receiver got and what was asked of its call. */
export function decoded(
  onData: (bytes: number, piece: Buffer) => void = () => undefined,
  encoding: Encoding = 'gzip',
  faults: EncodingFaults = { areKnown: false },
) {
  const asked: string[] = [];
  const over = Promise.withResolvers<void>();
  const got = { bytes: 0, encoded: [] as number[], ends: [] as string[], asked, over: over.promise };
  const answer = new DecodedAnswer(
    encoding,
    {
      onStart: () => undefined,
      onHead: () => undefined,
      onEncoded: (bytes) => void got.encoded.push(bytes),
      onData: (piece) => {
        got.bytes += piece.length;
        onData(got.bytes, piece);
      },
      onEnd: () => {
        got.ends.push('end');
        over.resolve();
      },
      onError: ({ message }) => {
        got.ends.push(message);
        over.reject(new Error(message));
      },
    },
    {
      pause: () => asked.push('pause'),
      resume: () => asked.push('resume'),
      abort: () => asked.push('abort'),
    },
    faults,
  );
  return { answer, got };
}

const LONG = Buffer.alloc(8 * 1024 * 1024, 'x');
const LONG_ENCODED = gzipSync(LONG);

/** Another is decoded from its beginning to its end meanwhile, by the same threads: time enough for what goes on. */
export async function longEnough(): Promise<void> {
  const { answer, got } = decoded();
  answer.push(LONG_ENCODED);
  answer.end();
  await got.over;
  expect(got.bytes).toBe(LONG.length);
}

const FLUSHED = { finishFlush: constants.Z_SYNC_FLUSH };
export const ENCODERS = [
  { as: 'gzip', encoding: 'gzip', encode: gzipSync, flushed: FLUSHED, checkBytes: 8 },
  { as: 'deflate', encoding: 'deflate', encode: deflateSync, flushed: FLUSHED, checkBytes: 4 },
  { as: 'deflate without its frame', encoding: 'deflate', encode: deflateRawSync, flushed: FLUSHED, checkBytes: 0 },
] as const;
export type Encoder = (typeof ENCODERS)[number];

/** A bit of one byte is another. */
export const flipped = (bytes: Buffer, at: number): Buffer => {
  const other = Buffer.from(bytes);
  other.writeUInt8(other.readUInt8(at) ^ 0x10, at);
  return other;
};

/** Ends that are none of the encoding, or more: all of the content can be decoded. */
export function faultyEnds(content: Buffer, { encode, flushed, checkBytes }: Encoder): [string, Buffer][] {
  const whole = encode(content);
  const open = encode(content, flushed);
  const ends: [string, Buffer][] = [
    ['bytes behind its end', Buffer.concat([whole, Buffer.from('behind it')])],
    ['a byte behind its end', Buffer.concat([whole, Buffer.from('b')])],
    ['zeros behind its end', Buffer.concat([whole, Buffer.alloc(9)])],
    ['no end', open],
    ['another end', Buffer.concat([open, Buffer.alloc(9, 0x66)])],
  ];
  if (checkBytes > 0) ends.push(['a wrong check', flipped(whole, whole.length - checkBytes)]);
  return ends;
}
