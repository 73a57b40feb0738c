import { Histogram, type MetricValueWithName, type Registry } from 'prom-client';

/** Counts by bucket, not cumulative, with one more for what is beyond the last bound. */
interface ReadBuckets {
  readonly counts: ArrayLike<number>;
  readonly sum: number;
}

interface ReadHistogramOptions {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
  /** Upper bounds, ascending. */
  readonly buckets: readonly number[];
  readonly registry: Registry;
  readonly read: () => Iterable<readonly [labels: Readonly<Record<string, string>>, buckets: ReadBuckets]>;
}

/** A histogram that is counted elsewhere, and read when somebody asks for the metrics: counting costs no look-up of labels. */
export class ReadHistogram extends Histogram {
  readonly #options: ReadHistogramOptions;

  constructor(options: ReadHistogramOptions) {
    const { name, help, labelNames, buckets, registry } = options;
    super({ name, help, labelNames, buckets: [...buckets], registers: [registry] });
    this.#options = options;
  }

  /** What the registry asks for; `get` is made of it. */
  async getForPromString() {
    const { name, help, read } = this.#options;
    const values = [...read()].flatMap(([labels, buckets]) => this.#valuesOf(labels, buckets));
    return { name, help, type: 'histogram', values, aggregator: 'sum' };
  }

  #valuesOf(labels: Readonly<Record<string, string>>, { counts, sum }: ReadBuckets): MetricValueWithName<string>[] {
    const { name, buckets } = this.#options;
    let count = 0;
    const values = [...buckets, '+Inf'].map((le, at) => {
      count += counts[at] ?? 0;
      return { metricName: `${name}_bucket`, labels: { ...labels, le }, value: count };
    });
    values.push({ metricName: `${name}_sum`, labels: { ...labels } as (typeof values)[number]['labels'], value: sum });
    values.push({
      metricName: `${name}_count`,
      labels: { ...labels } as (typeof values)[number]['labels'],
      value: count,
    });
    return values;
  }
}
