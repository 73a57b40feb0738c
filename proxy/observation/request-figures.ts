import type { ErrorCode } from '../../contracts/errors.ts';
import type { Outcome } from '../../contracts/events.ts';
import { TOKEN_CLASSES } from '../../contracts/usage.ts';
import { LatencyBuckets } from './latency-buckets.ts';
import type { ObservedRequest } from './observed-request.ts';

/** Short answers, and streams that run to the end of their time. */
export const DURATION_BUCKETS_S = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320, 640, 1_280];
export const FIRST_BYTE_BUCKETS_S = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320];
/** Mostly microseconds; a wait for a lease, a count or a connection counts, too. */
export const OVERHEAD_BUCKETS_S = [0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 10];

/** Of a model and an upstream. */
export interface ModelFigures {
  readonly model: string;
  readonly upstream: string;
  readonly times: Map<FiguredOutcome, RequestTimes>;
  /** Of refusals, and of errors that answers were cut with. */
  readonly codes: Map<ErrorCode, number>;
  /** In the order of TOKEN_CLASSES. */
  readonly tokens: Float64Array;
  /** In pico-USD: exact. */
  cost: bigint;
}

/** Of the requests of an outcome: those to the first byte have only those that came to one. */
export interface RequestTimes {
  readonly durations: LatencyBuckets;
  readonly firstBytes: LatencyBuckets;
  readonly overheads: LatencyBuckets;
}

/** How a request went upstream has ended; `refused` is one that no upstream has seen. */
type FiguredOutcome = Outcome | 'refused';

interface EndedRequest {
  readonly observed: ObservedRequest;
  readonly nowMs: number;
}

/** Models times upstreams; what comes beyond that, as catalogs change, is counted together. */
const FIGURES_MAX = 1_000;
/** No model of the catalog was asked for, or none could be read. */
const UNKNOWN = 'unknown';
/** No upstream was called. */
const NONE = 'none';
const OTHER = 'other';
/** Requests that are counted together, where nobody asks before: the code for it, cold among all that a request runs, is then met once. */
const COUNTED_TOGETHER = 64;

/**
 * What requests took, used and cost, by model and upstream: names of the catalog and the configuration alone, so that no
 * caller makes a series. Of requests whose body was read; whoever was refused before that is in the counts by status.
 */
export class RequestFigures {
  readonly #byModel = new Map<string, Map<string, ModelFigures>>();
  #count = 0;
  #uncounted: EndedRequest[] = [];
  readonly #onUntold: (error: unknown, requestId: string) => void;

  /** @param onUntold why a request is not counted: that ends nothing of the others */
  constructor(onUntold: (error: unknown, requestId: string) => void) {
    this.#onUntold = onUntold;
  }

  all(): Iterable<ModelFigures> {
    this.#countAll();
    return [...this.#byModel.values()].flatMap((byUpstream) => [...byUpstream.values()]);
  }

  /** @param nowMs its end, by the clock of its other times */
  ended(observed: ObservedRequest, nowMs: number): void {
    if (observed.readMs === 0) return;
    if (this.#uncounted.push({ observed, nowMs }) >= COUNTED_TOGETHER) this.#countAll();
  }

  #countAll(): void {
    const uncounted = this.#uncounted;
    this.#uncounted = [];
    for (const ended of uncounted)
      try {
        this.#add(ended);
      } catch (error) {
        this.#onUntold(error, ended.observed.requestId);
      }
  }

  #add({ observed, nowMs }: EndedRequest): void {
    const { arrivedMs, firstByteMs, overheadMs, code, ending, cost } = observed;
    const figures = this.#of(observed.model ?? UNKNOWN, observed.upstream ?? NONE);
    const times = timesOf(figures, ending?.outcome ?? 'refused');
    times.durations.add((nowMs - arrivedMs) / 1_000);
    if (overheadMs !== null) {
      times.firstBytes.add((firstByteMs - arrivedMs) / 1_000);
      times.overheads.add(overheadMs / 1_000);
    }
    if (ending !== null)
      for (let at = 0; at < TOKEN_CLASSES.length; at++) {
        const name = TOKEN_CLASSES[at];
        if (name !== undefined) figures.tokens[at] = (figures.tokens[at] ?? 0) + ending.tokens[name];
      }
    if (code !== null) figures.codes.set(code, (figures.codes.get(code) ?? 0) + 1);
    if (cost !== null) figures.cost += cost;
  }

  #of(model: string, upstream: string): ModelFigures {
    const found = this.#byModel.get(model)?.get(upstream);
    if (found !== undefined) return found;
    if (this.#count >= FIGURES_MAX && model !== OTHER) return this.#of(OTHER, OTHER);
    const made: ModelFigures = {
      ...{ model, upstream, cost: 0n },
      times: new Map(),
      codes: new Map(),
      tokens: new Float64Array(TOKEN_CLASSES.length),
    };
    this.#count++;
    const byUpstream = this.#byModel.get(model) ?? new Map<string, ModelFigures>();
    this.#byModel.set(model, byUpstream.set(upstream, made));
    return made;
  }
}

function timesOf({ times }: ModelFigures, outcome: FiguredOutcome): RequestTimes {
  const found = times.get(outcome);
  if (found !== undefined) return found;
  const made = {
    durations: new LatencyBuckets(DURATION_BUCKETS_S),
    firstBytes: new LatencyBuckets(FIRST_BYTE_BUCKETS_S),
    overheads: new LatencyBuckets(OVERHEAD_BUCKETS_S),
  };
  times.set(outcome, made);
  return made;
}
