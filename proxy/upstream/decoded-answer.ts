import { Transform } from 'node:stream';
import {
  type BrotliDecompress,
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  type Gunzip,
} from 'node:zlib';
import { LIMITS } from '../../contracts/limits.ts';
import type { UpstreamError, UpstreamReceiver } from './upstream.ts';

type Decoder = Gunzip | BrotliDecompress;
type Encoding = 'gzip' | 'deflate' | 'br';

const ENCODINGS: ReadonlyMap<string, Encoding> = new Map([
  ['gzip', 'gzip'],
  ['x-gzip', 'gzip'],
  ['deflate', 'deflate'],
  ['br', 'br'],
]);

/** The encoding that can be undone; null where there is none, or none that is known. */
export const decodable = (contentEncoding: string | null): Encoding | null =>
  contentEncoding === null ? null : (ENCODINGS.get(contentEncoding.trim().toLowerCase()) ?? null);

/** The call that the bytes come from. */
interface EncodedCall {
  pause(): void;
  resume(): void;
  abort(): void;
}

/**
 * Undoes the encoding of an answer that was asked for as it is, so that it can be metered, looked through and passed on.
 * What an upstream has flushed is passed on at once. It decodes to as much as a JSON answer may have, or is broken, like
 * one that is not what it says; what came before that is told in either case.
 */
export class DecodedAnswer {
  readonly #encoding: Encoding;
  readonly #receiver: UpstreamReceiver;
  readonly #call: EncodedCall;
  #decoding: Decoding | null = null;
  #bytes = 0;
  #isPaused = false;
  #isOver = false;
  /** Its connection is another call's. */
  #isCallOver = false;

  constructor(encoding: Encoding, receiver: UpstreamReceiver, call: EncodedCall) {
    this.#encoding = encoding;
    this.#receiver = receiver;
    this.#call = call;
  }

  push(chunk: Buffer): void {
    const [first] = chunk;
    if (this.#isOver || first === undefined) return;
    this.#decoding ??= this.#begin(first);
    const { pieces } = this.#decoding;
    for (let at = 0; at < chunk.length; at += PIECE_BYTES_MAX) pieces.write(chunk.subarray(at, at + PIECE_BYTES_MAX));
    if (pieces.writableNeedDrain) this.#call.pause();
  }

  /** The call has ended; the answer does when all of it is decoded. */
  end(): void {
    this.#isCallOver = true;
    if (this.#isOver) return;
    if (this.#decoding === null) this.#over(() => this.#receiver.onEnd());
    // Where the encoding lacks its end that is an error, by which a decoder loses what it holds.
    else onceRead(this.#decoding, (decoder) => decoder.end());
  }

  /** The call has failed: what had come until then is told before that. */
  fail(error: UpstreamError): void {
    this.#isCallOver = true;
    const tell = (): void => this.#over(() => this.#receiver.onError(error));
    if (this.#decoding === null || error.kind === 'aborted') tell();
    else onceRead(this.#decoding, tell);
  }

  pause(): void {
    this.#isPaused = true;
    this.#decoding?.decoder.pause();
    if (!this.#isCallOver) this.#call.pause();
  }

  resume(): void {
    this.#isPaused = false;
    this.#decoding?.decoder.resume();
    if (this.#decoding?.pieces.writableNeedDrain !== true) this.#goOn();
  }

  #goOn(): void {
    if (!this.#isCallOver) this.#call.resume();
  }

  #begin(first: number): Decoding {
    const pieces = triedPieces(decoderOf(this.#encoding, first));
    pieces.on('drain', () => {
      if (!this.#isPaused) this.#goOn();
    });
    const decoder = decoderOf(this.#encoding, first);
    decoder.on('data', (decoded: Buffer) => this.#pass(decoded));
    decoder.on('end', () => {
      this.#over(() => this.#receiver.onEnd());
      // More has come than was encoded: nobody takes that, and the call would wait for whoever does.
      this.#leaveCall();
    });
    decoder.on('error', () => {
      for (let held = decoder.read(); held !== null; held = decoder.read()) this.#pass(held);
      this.#break(`the answer is not the ${this.#encoding} that it says`);
    });
    if (this.#isPaused) decoder.pause();
    pieces.pipe(decoder, { end: false });
    return { pieces, decoder };
  }

  #pass(decoded: Buffer): void {
    if (this.#isOver) return;
    this.#bytes += decoded.length;
    if (this.#bytes <= LIMITS.answerBytesMax) this.#receiver.onData(decoded);
    else this.#break(`the answer decodes to more than ${LIMITS.answerBytesMax} bytes`);
  }

  #break(message: string): void {
    if (this.#isOver) return;
    this.#over(() => this.#receiver.onError({ kind: 'reset', message }));
    this.#leaveCall();
  }

  #leaveCall(): void {
    if (!this.#isCallOver) this.#call.abort();
  }

  #over(tell: () => void): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#decoding?.pieces.destroy();
    this.#decoding?.decoder.destroy();
    tell();
  }
}

/** What comes encoded, in pieces, on its way to what decodes it. */
interface Decoding {
  readonly pieces: Transform;
  readonly decoder: Decoder;
}

/**
 * A decoder loses what it has made of a piece that it fails on. Another takes each piece before it: one that fails there is
 * passed on in single bytes, so that all that is before the fault is made, however the bytes fall into packets.
 */
function triedPieces(ahead: Decoder): Transform {
  ahead.resume();
  return new Transform({
    readableObjectMode: true,
    transform(piece: Buffer, _encoding, done) {
      const failed = (): void => {
        for (let at = 0; at < piece.length; at++) this.push(piece.subarray(at, at + 1));
        done();
      };
      ahead.once('error', failed);
      ahead.write(piece, () => {
        ahead.off('error', failed);
        done(null, piece);
      });
    },
    destroy(error, done) {
      ahead.destroy();
      done(error);
    },
  });
}

/** Nothing more comes: when all that has is decoded and read, however long that is held back, and nothing is. */
function onceRead({ pieces, decoder }: Decoding, then: (decoder: Decoder) => void): void {
  const look = (): void => {
    if (decoder.isPaused()) decoder.once('resume', lookLater);
    else if (decoder.readableLength > 0) decoder.once('data', lookLater);
    else then(decoder);
  };
  const lookLater = (): void => void setImmediate(look);
  pieces.once('end', () => decoder.flush(lookLater));
  pieces.end();
}

const AT_ONCE = { flush: constants.Z_SYNC_FLUSH };

function decoderOf(encoding: Encoding, first: number): Decoder {
  switch (encoding) {
    case 'gzip':
      return createGunzip(AT_ONCE);
    case 'deflate':
      // Some send it without the frame that the standard asks for, as browsers allow; the frame's first byte tells.
      return (first & 0x0f) === ZLIB_METHOD ? createInflate(AT_ONCE) : createInflateRaw(AT_ONCE);
    case 'br':
      return createBrotliDecompress({ flush: constants.BROTLI_OPERATION_FLUSH });
    default:
      return encoding satisfies never;
  }
}

const ZLIB_METHOD = 8;
/** So many bytes are decoded one by one where there is a fault among them. */
const PIECE_BYTES_MAX = 1_024;
