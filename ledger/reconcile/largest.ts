/** The largest of any number, of which only a bounded number is kept; the rest is counted. */
export class Largest<T> {
  readonly #most: number;
  readonly #weight: (one: T) => number;
  #kept: T[] = [];
  #count = 0;

  constructor(most: number, weight: (one: T) => number) {
    this.#most = most;
    this.#weight = weight;
  }

  add(one: T): void {
    this.#count += 1;
    this.#kept.push(one);
    if (this.#kept.length >= 2 * this.#most) this.#kept = this.all;
  }

  /** The largest first. */
  get all(): T[] {
    return this.#kept.sort((one, other) => this.#weight(other) - this.#weight(one)).slice(0, this.#most);
  }

  get leftOut(): number {
    return this.#count - Math.min(this.#count, this.#most);
  }
}
