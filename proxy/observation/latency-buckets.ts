/** How often something took how long, in seconds. Counting allocates nothing. */
export class LatencyBuckets {
  /** Of each upper bound, and beyond them: not cumulative. */
  readonly counts: Float64Array;
  sum = 0;
  readonly #bounds: readonly number[];

  /** @param bounds ascending */
  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.counts = new Float64Array(bounds.length + 1);
  }

  add(seconds: number): void {
    const bounds = this.#bounds;
    let at = 0;
    while (at < bounds.length && seconds > (bounds[at] as number)) at++;
    this.counts[at] = (this.counts[at] ?? 0) + 1;
    this.sum += seconds;
  }
}
