import { CHUNK_BYTES_MIN } from './limits.ts';

/**
 * Looks in what pieces a body comes: a byte that comes by itself costs some hundred, and as much time as a thousand. So many
 * short ones may come in a row; long ones make up for them, and are not saved up for more.
 */
export class Crumbs {
  readonly #max: number;
  #left: number;

  /** @param max pieces that may be of any length */
  constructor(max: number) {
    this.#max = max;
    this.#left = max;
  }

  /** Whether its pieces are too short on the average. */
  add(bytes: number): boolean {
    this.#left = Math.min(this.#max, this.#left - 1 + bytes / CHUNK_BYTES_MIN);
    return this.#left < 0;
  }
}
