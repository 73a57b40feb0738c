/** How many of something there are of each source at once: at most so many. */
export class SourceBound {
  readonly #max: number;
  readonly #counts = new Map<string, number>();

  constructor(max: number) {
    this.#max = max;
  }

  /** False where there is no room for another. */
  take(source: string): boolean {
    const count = this.#counts.get(source) ?? 0;
    if (count >= this.#max) return false;
    this.#counts.set(source, count + 1);
    return true;
  }

  give(source: string): void {
    const count = (this.#counts.get(source) ?? 0) - 1;
    if (count > 0) this.#counts.set(source, count);
    else this.#counts.delete(source);
  }

  /** Sources of which there is any. */
  get size(): number {
    return this.#counts.size;
  }
}
