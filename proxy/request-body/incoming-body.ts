import { type Refusal, refusal } from '../../contracts/errors.ts';
import { LIMITS } from '../../contracts/limits.ts';
import { Crumbs } from './crumbs.ts';
import { freeBytes } from './free-bytes.ts';
import { CHUNK_BYTES_MIN, PIECE_BYTES, READ_AT_ONCE_BYTES_MAX, SHORT_CHUNKS_MAX } from './limits.ts';
import { RequestBytes } from './request-bytes.ts';

/**
 * Takes a body's chunks as they come. A body in one chunk is that chunk, unless that is part of something larger: a thread
 * may get it, and what it is given is gone here. What comes in several is copied into few pieces,
 * for a chunk can be one byte that keeps a hundred alive, and is freed.
 */
export class IncomingBody {
  readonly #announced: number | null;
  readonly #takeRoom: (bytes: number) => Refusal | null;
  readonly #pieces: Buffer[] = [];
  #bytes: RequestBytes | null = null;
  #filled = 0;
  #length = 0;
  readonly #crumbs = new Crumbs(SHORT_CHUNKS_MAX);

  /** @param announced the body's length where its head says it @param takeRoom asked for what is about to be kept */
  constructor(announced: number | null, takeRoom: (bytes: number) => Refusal | null) {
    this.#announced = announced;
    this.#takeRoom = takeRoom;
  }

  /** Why it is not read on; null where it is. The chunk is the body's from then on. */
  add(chunk: Buffer): Refusal | null {
    this.#length += chunk.length;
    if (this.#length > LIMITS.requestBodyBytesMax) return TOO_LARGE;
    if (this.#crumbs.add(chunk.length)) return IN_CRUMBS;
    if (this.#length === chunk.length && chunk.length === this.#announced && isItsOwn(chunk)) {
      this.#pieces.push(chunk);
      this.#filled = chunk.length;
      return this.#takeRoom(chunk.length);
    }
    for (let copied = 0; copied < chunk.length; ) {
      const refused = this.#makeRoom();
      if (refused !== null) return refused;
      const piece = this.#pieces.at(-1);
      if (piece === undefined) throw new Error('there is room for more bytes');
      const bytes = chunk.copy(piece, this.#filled, copied);
      this.#filled += bytes;
      copied += bytes;
    }
    freeBytes(chunk);
    return null;
  }

  get length(): number {
    return this.#length;
  }

  /** Whether it is too long to be read where others wait for it. */
  get isLong(): boolean {
    return this.#length > READ_AT_ONCE_BYTES_MAX;
  }

  end(): RequestBytes {
    const last = this.#pieces.pop() ?? Buffer.alloc(0);
    this.#bytes = new RequestBytes([...this.#pieces, last.subarray(0, this.#filled)]);
    return this.#bytes;
  }

  /** Nobody wants it any more, whether all of it has come or not. */
  free(): void {
    if (this.#bytes !== null) this.#bytes.free();
    else for (const piece of this.#pieces.splice(0)) freeBytes(piece);
  }

  #makeRoom(): Refusal | null {
    const last = this.#pieces.at(-1);
    if (last !== undefined && this.#filled < last.length) return null;
    const bytes = this.#nextPieceBytes();
    const refused = this.#takeRoom(bytes);
    if (refused !== null) return refused;
    // Not of the pool that small buffers share: pieces are given to threads.
    this.#pieces.push(Buffer.allocUnsafeSlow(bytes));
    this.#filled = 0;
    return null;
  }

  /** A short body is one piece, whether its length is known or not. */
  #nextPieceBytes(): number {
    const kept = this.#pieces.reduce((sum, piece) => sum + piece.length, 0);
    if (this.#announced !== null) return Math.min(this.#announced - kept, PIECE_BYTES);
    return kept === 0 ? READ_AT_ONCE_BYTES_MAX : PIECE_BYTES;
  }
}

const isItsOwn = ({ buffer, byteLength }: Buffer): boolean => buffer.byteLength === byteLength;

export const TOO_LARGE: Refusal = refusal(
  'body_too_large',
  `the body is longer than ${LIMITS.requestBodyBytesMax} bytes (32 MiB)`,
);

export const IN_CRUMBS: Refusal = refusal(
  'invalid_request',
  `the body comes in pieces of less than ${CHUNK_BYTES_MIN} bytes; send it whole, or in longer ones`,
);
