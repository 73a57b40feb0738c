import { CHUNK_BYTES_MIN, SHORT_CHUNKS_MAX } from './limits.ts';

/** Counts in what pieces a body comes: a byte that comes by itself costs some hundred, and as much time as a thousand. */
export class Crumbs {
  #chunks = 0;
  #bytes = 0;

  /** Whether its pieces are too short on the average. */
  add(bytes: number): boolean {
    this.#chunks++;
    this.#bytes += bytes;
    return this.#chunks > SHORT_CHUNKS_MAX + this.#bytes / CHUNK_BYTES_MIN;
  }
}
