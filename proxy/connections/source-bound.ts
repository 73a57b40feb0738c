import { Tally } from '../tally.ts';

/** How many of something there are of each source at once: at most so many. */
export class SourceBound {
  readonly #max: number;
  readonly #counts = new Tally<string>();

  constructor(max: number) {
    this.#max = max;
  }

  /** False where there is no room for another. */
  take(source: string): boolean {
    if (this.#counts.of(source) >= this.#max) return false;
    this.#counts.add(source);
    return true;
  }

  give(source: string): void {
    this.#counts.subtract(source);
  }

  /** Sources of which there is any. */
  get size(): number {
    return this.#counts.size;
  }
}
