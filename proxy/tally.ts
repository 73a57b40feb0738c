/** How many of something there are of each key; a key of which there is none is forgotten. */
export class Tally<Key> {
  readonly #counts = new Map<Key, number>();

  of(key: Key): number {
    return this.#counts.get(key) ?? 0;
  }

  add(key: Key, count = 1): void {
    this.#counts.set(key, this.of(key) + count);
  }

  subtract(key: Key, count = 1): void {
    const left = this.of(key) - count;
    if (left > 0) this.#counts.set(key, left);
    else this.#counts.delete(key);
  }

  /** Keys of which there is any. */
  get size(): number {
    return this.#counts.size;
  }
}
