import { LIMITS } from '../../contracts/limits.ts';
import type { BodyShare } from '../request-body/body-share.ts';
import type { UpstreamHeaders } from '../upstream/upstream.ts';
import { PIECE_BYTES_BESIDE } from './limits.ts';

/**
 * A non-streamed answer, kept as it comes until it is whole: what then turns out to be no Message, or breaks off, reaches
 * nobody. Its bytes count in the budget of bodies; where that has no room for more, what there is goes out, and the rest
 * as it comes.
 */
export class WholeAnswer {
  readonly headers: UpstreamHeaders;
  readonly #room: Pick<BodyShare, 'take'>;
  #pieces: Buffer[] = [];
  #length = 0;

  constructor(headers: UpstreamHeaders, room: Pick<BodyShare, 'take'>) {
    this.headers = headers;
    this.#room = room;
  }

  /** Nothing that is still to come makes it readable: it need not be waited for. */
  get isTooLong(): boolean {
    return Math.max(this.#length, this.headers.contentLength ?? 0) > LIMITS.answerBytesMax;
  }

  /** Whether there was room for it; it is kept in any case. */
  add(piece: Buffer): boolean {
    this.#length += piece.length;
    this.#pieces.push(piece);
    // A piece of a byte takes more than a byte.
    return this.#room.take(piece.length + PIECE_BYTES_BESIDE) === null;
  }

  /** What has come, once. */
  take(): Buffer[] {
    const pieces = this.#pieces;
    this.#pieces = [];
    return pieces;
  }
}
