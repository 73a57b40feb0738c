import type { Socket } from 'node:net';
import { CHUNK_BYTES_MIN, TURN_BYTES, UNWANTED_SHORT_CHUNKS_MAX } from '../request-body/limits.ts';

/**
 * What comes of a body of which no piece is made: of each it is known that there is one, and what the connection has brought
 * by then. Tells crumbs by that, as request-body/crumbs.ts does by the length of each.
 */
export class UnmadePieces {
  readonly #socket: Pick<Socket, 'bytesRead'>;
  readonly #before: number;
  #seen: number;
  #left = UNWANTED_SHORT_CHUNKS_MAX;

  constructor(socket: Pick<Socket, 'bytesRead'>) {
    this.#socket = socket;
    this.#before = socket.bytesRead;
    // The first may have come with the head, in one read.
    this.#seen = Math.max(0, this.#before - TURN_BYTES);
  }

  /** What the connection has brought since. */
  get bytes(): number {
    return this.#socket.bytesRead - this.#before;
  }

  /** Whether the pieces are too short on the average, with another one. */
  add(): boolean {
    const read = this.#socket.bytesRead;
    if (read > this.#seen) {
      // Long ones make up for short ones of the same read, and are not saved up for more.
      this.#left = Math.min(UNWANTED_SHORT_CHUNKS_MAX, this.#left) + (read - this.#seen) / CHUNK_BYTES_MIN;
      this.#seen = read;
    }
    this.#left--;
    return this.#left < 0;
  }
}
