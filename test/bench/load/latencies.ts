const SAMPLES_MAX = 1_000_000;

/** Samples of a window, in microseconds. Past a million, later ones are not kept: far more than a window has. */
export class Latencies {
  readonly #samples: number[] = [];

  add(us: number): void {
    if (this.#samples.length < SAMPLES_MAX) this.#samples.push(us);
  }

  clear(): void {
    this.#samples.length = 0;
  }

  summary(): { p50Us: number; p99Us: number } {
    const sorted = Float64Array.from(this.#samples).sort();
    return { p50Us: percentile(sorted, 0.5), p99Us: percentile(sorted, 0.99) };
  }
}

/** The nearest-rank percentile of sorted samples; NaN where there are none. */
export function percentile(sorted: ArrayLike<number>, share: number): number {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}

/** The middle value, or the mean of the two middle ones; NaN where there are none. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const upper = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
  const lower = sorted[Math.ceil(sorted.length / 2) - 1] ?? Number.NaN;
  return (lower + upper) / 2;
}
