import { Writable } from 'node:stream';
import {
  constants,
  createGunzip,
  createInflate,
  createInflateRaw,
  type Gunzip,
  type Inflate,
  type InflateRaw,
} from 'node:zlib';
import { LIMITS } from '../../contracts/limits.ts';
import { isTooMuchFor } from './limits.ts';
import { ABORTED, type UpstreamControl, type UpstreamError, type UpstreamReceiver } from './upstream.ts';

type Decoder = Gunzip | Inflate | InflateRaw;
type Encoding = 'gzip' | 'deflate';

/** Those whose decoders take little: one of brotli takes 16 MiB before its first byte can be held back, by two hundred bytes. */
const ENCODINGS: ReadonlyMap<string, Encoding> = new Map([
  ['gzip', 'gzip'],
  ['x-gzip', 'gzip'],
  ['deflate', 'deflate'],
]);

/** The encoding that can be undone; null where there is none, or none that is known. */
export const decodable = (contentEncoding: string | null): Encoding | null =>
  contentEncoding === null ? null : (ENCODINGS.get(contentEncoding) ?? null);

/** Of a provider: whether an answer of it has had a fault in its encoding. */
export interface EncodingFaults {
  areKnown: boolean;
}

/**
 * Undoes the encoding of an answer that was asked for as it is, so that it can be metered, looked through and passed on.
 * What an upstream has flushed is passed on at once. It decodes to as much as a JSON answer may have, and to
 * something, or is broken, like one that is not what it says; what came before that is told in either case.
 */
export class DecodedAnswer implements UpstreamControl {
  readonly #encoding: Encoding;
  readonly #receiver: UpstreamReceiver;
  /** That the bytes come from. */
  readonly #call: UpstreamControl;
  readonly #faults: EncodingFaults;
  #decoding: Decoding | null = null;
  /** What has come of a read and is not handed on to be decoded yet. */
  #came: Buffer[] = [];
  #cameBytes = 0;
  #bytes = 0;
  #isPaused = false;
  #isOver = false;
  /** Its connection is another call's. */
  #isCallOver = false;

  constructor(encoding: Encoding, receiver: UpstreamReceiver, call: UpstreamControl, faults: EncodingFaults) {
    this.#encoding = encoding;
    this.#receiver = receiver;
    this.#call = call;
    this.#faults = faults;
  }

  push(chunk: Buffer): void {
    const [first] = chunk;
    if (this.#isOver || first === undefined) return;
    this.#decoding ??= this.#begin(first);
    this.#came.push(chunk);
    this.#cameBytes += chunk.length;
    if (this.#cameBytes >= PIECE_BYTES_MAX) this.#handOn();
    else if (this.#came.length === 1) queueMicrotask(this.#handOn);
    this.#receiver.onEncoded(chunk.length);
  }

  /** The call has ended; the answer does when all of it is decoded. */
  end(): void {
    this.#isCallOver = true;
    if (this.#isOver) return;
    this.#handOn();
    if (this.#decoding === null) this.#over(() => this.#receiver.onEnd());
    // Where the encoding lacks its end that is an error, by which a decoder loses what it holds.
    else onceRead(this.#decoding, (decoder) => decoder.end());
  }

  /** The call has failed: what had come until then is told before that. */
  fail(error: UpstreamError): void {
    this.#isCallOver = true;
    this.#handOn();
    const tell = (): void => this.#over(() => this.#receiver.onError(error));
    if (this.#decoding === null) tell();
    else onceRead(this.#decoding, tell);
  }

  pause(): void {
    this.#isPaused = true;
    for (const decoder of this.#decoders) decoder.pause();
    if (!this.#isCallOver) this.#call.pause();
  }

  resume(): void {
    this.#isPaused = false;
    for (const decoder of this.#decoders) decoder.resume();
    if (this.#decoding?.pieces.writableNeedDrain !== true) this.#goOn();
  }

  /** Also where all that is encoded has come, and is still being decoded, or waits for that. */
  abort(): void {
    this.#endBy(ABORTED);
  }

  /**
   * What has come of one read is decoded in one piece, in however many chunks it came: a byte by itself costs as much as
   * thousands. It is handed on before anything else has its turn, so that no event of a stream waits for the next.
   */
  readonly #handOn = (): void => {
    if (this.#decoding === null || this.#isOver || this.#cameBytes === 0) return;
    const { pieces } = this.#decoding;
    const came = Buffer.concat(this.#came, this.#cameBytes);
    this.#came = [];
    this.#cameBytes = 0;
    for (let at = 0; at < came.length; at += PIECE_BYTES_MAX) pieces.write(came.subarray(at, at + PIECE_BYTES_MAX));
    if (pieces.writableNeedDrain && !this.#isCallOver) this.#call.pause();
  };

  get #decoders(): readonly Decoder[] {
    return this.#decoding?.all ?? [];
  }

  #goOn(): void {
    if (!this.#isCallOver) this.#call.resume();
  }

  #begin(first: number): Decoding {
    let taken = 0;
    const decoding = decodingOf({
      begun: (isTold) => (isTold ? this.#decoderOf(first) : decoderOf(this.#encoding, first).resume()),
      faults: this.#faults,
      onTaken: (bytes) => {
        taken += bytes;
        if (isTooMuchFor(this.#bytes, taken)) this.#break(`the answer decodes to next to nothing of ${taken} bytes`);
      },
      onFault: () => this.#break(`the answer is not the ${this.#encoding} that it says`),
    });
    decoding.pieces.on('drain', () => {
      if (!this.#isPaused) this.#goOn();
    });
    return decoding;
  }

  /** What it makes is told as far as none has made it before. */
  #decoderOf(first: number): Decoder {
    const decoder = decoderOf(this.#encoding, first);
    let made = 0;
    const tell = (decoded: Buffer): void => {
      made += decoded.length;
      if (made > this.#bytes) this.#pass(decoded.subarray(this.#bytes - made));
    };
    decoder.on('data', tell);
    decoder.on('end', () => {
      this.#over(() => this.#receiver.onEnd());
      // More has come than was encoded: nobody takes that, and the call would wait for whoever does.
      this.#leaveCall();
    });
    decoder.on('error', () => {
      for (let held = decoder.read(); held !== null; held = decoder.read()) tell(held);
    });
    if (this.#isPaused) decoder.pause();
    return decoder;
  }

  #pass(decoded: Buffer): void {
    if (this.#isOver) return;
    this.#bytes += decoded.length;
    if (this.#bytes <= LIMITS.answerBytesMax) this.#receiver.onData(decoded);
    else this.#break(`the answer decodes to more than ${LIMITS.answerBytesMax} bytes`);
  }

  #break(message: string): void {
    this.#endBy({ kind: 'unreadable', message });
  }

  #endBy(error: UpstreamError): void {
    if (this.#isOver) return;
    this.#over(() => this.#receiver.onError(error));
    this.#leaveCall();
  }

  #leaveCall(): void {
    if (!this.#isCallOver) this.#call.abort();
  }

  #over(tell: () => void): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#decoding?.pieces.destroy();
    for (const decoder of this.#decoders) decoder.destroy();
    tell();
  }
}

/** What comes encoded, in pieces, on its way to what decodes it; and all that decode it, with those that do so again. */
interface Decoding {
  readonly pieces: Writable;
  readonly decoder: Decoder;
  readonly all: readonly Decoder[];
}

interface DecodingOf {
  /** Begins one, by which what is decoded is told, or is not. */
  readonly begun: (isTold: boolean) => Decoder;
  readonly faults: EncodingFaults;
  readonly onTaken: (bytes: number) => void;
  readonly onFault: () => void;
}

/**
 * A decoder loses what it has made of a piece that it fails on. Another takes such a piece in steps, and one more what comes
 * before the step that fails, and that in single bytes, so that all that is before the fault is made, however the bytes fall
 * into packets. What came before that piece they take only then, or when that is more than is kept: most answers are decoded
 * once, and none further than it is told. None is decoded three times for what its provider has never done: until then there
 * is no other where more came than is kept, and all of the piece is taken in single bytes.
 */
function decodingOf({ begun, faults, onTaken, onFault }: DecodingOf): Decoding {
  const all: Decoder[] = [];
  const begin = (isTold: boolean): Decoder => {
    const one = begun(isTold);
    all.push(one);
    return one;
  };
  const beginBehind = (areTwo: boolean): Behind => ({
    byStep: areTwo ? begin(false).on('error', onFault) : null,
    byByte: begin(true).on('error', onFault),
  });
  const decoder = begin(true);
  let behind: Behind | null = null;
  const kept = Buffer.allocUnsafe(KEPT_BYTES_MAX);
  let keptBytes = 0;
  const catchUp = (then: () => void): void => {
    behind ??= beginBehind(faults.areKnown);
    const { byStep, byByte } = behind;
    const bytes = kept.subarray(0, keptBytes);
    keptBytes = 0;
    if (byStep === null) byByte.write(bytes, then);
    else byStep.write(bytes, () => void (byByte.destroyed || byByte.write(bytes, then)));
  };
  let tried: Buffer | null = null;
  const pieces = new Writable({
    objectMode: true,
    // Destroyed once the answer is over alone, not once nothing more comes: what has come may still be at fault.
    autoDestroy: false,
    highWaterMark: PIECES_WAITING_MAX,
    write(piece: Buffer, _encoding, done) {
      const keep = (): void => {
        keptBytes += piece.copy(kept, keptBytes);
        done();
      };
      tried = piece;
      decoder.write(piece, () => {
        if (pieces.destroyed) return;
        tried = null;
        onTaken(piece.length);
        if (keptBytes + piece.length > KEPT_BYTES_MAX) catchUp(keep);
        else keep();
      });
    },
  });
  decoder.on('error', () => {
    // By what it had made of that piece, which has just been told.
    if (pieces.destroyed) return;
    if (tried === null) {
      onFault();
      return;
    }
    faults.areKnown = true;
    behind ??= beginBehind(true);
    decodeToFault(Buffer.concat([kept.subarray(0, keptBytes), tried]), keptBytes, behind, onFault);
  });
  return { pieces, decoder, all };
}

/** Those that decode once more. */
interface Behind {
  /** Finds the step that fails; tells nothing. */
  readonly byStep: Decoder | null;
  readonly byByte: Decoder;
}

/** @param soundBytes so many of them come before the piece that has a fault */
function decodeToFault(bytes: Buffer, soundBytes: number, { byStep, byByte }: Behind, onFault: () => void): void {
  if (byStep === null) {
    takeInSteps(byByte, { bytes, firstBytes: soundBytes, stepBytes: 1 }, onFault);
    return;
  }
  const steps = takeInSteps(byStep, { bytes, firstBytes: soundBytes, stepBytes: STEP_BYTES }, onFault);
  byStep.off('error', onFault);
  byStep.on('error', () => takeInSteps(byByte, { bytes, firstBytes: steps.taken, stepBytes: 1 }, onFault));
}

interface Steps {
  readonly bytes: Buffer;
  /** Taken at once. */
  readonly firstBytes: number;
  readonly stepBytes: number;
}

/** Each step when the one before is taken: none waits, nor is taken for those who left. */
function takeInSteps(decoder: Decoder, { bytes, firstBytes, stepBytes }: Steps, onAll: () => void): { taken: number } {
  const steps = { taken: 0 };
  const take = (until: number): void => {
    decoder.write(bytes.subarray(steps.taken, until), () => {
      if (decoder.destroyed) return;
      steps.taken = until;
      if (until < bytes.length) take(until + stepBytes);
      else onAll();
    });
  };
  take(firstBytes);
  return steps;
}

/** Nothing more comes: when all that has is decoded and read, however long that is held back, and nothing is. */
function onceRead({ pieces, decoder }: Decoding, then: (decoder: Decoder) => void): void {
  const look = (): void => {
    if (decoder.isPaused()) decoder.once('resume', lookLater);
    else if (decoder.readableLength > 0) decoder.once('data', lookLater);
    else then(decoder);
  };
  const lookLater = (): void => void setImmediate(look);
  pieces.once('finish', () => decoder.flush(lookLater));
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
    default:
      return encoding satisfies never;
  }
}

const ZLIB_METHOD = 8;
/** So many bytes are decoded again in steps where there is a fault among them: as many steps as a step then has bytes. */
const PIECE_BYTES_MAX = 4_096;
const STEP_BYTES = 64;
/** So many wait to be decoded before the call does, of whatever length: of one byte each takes some hundred. */
const PIECES_WAITING_MAX = 4;
/** So many bytes, encoded, are decoded no second time where there is no fault. */
const KEPT_BYTES_MAX = 65_536;
