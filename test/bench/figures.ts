import type { ContenderName } from './contenders/contender.ts';
import { median } from './load/latencies.ts';
import type { Sample } from './measure.ts';
import { WORKLOADS, type WorkloadName } from './workloads.ts';

/** What a contender did in a workload: medians over the rounds, so that one bad round changes little. */
export interface Figure {
  readonly workload: WorkloadName;
  readonly contender: ContenderName;
  readonly requestsPerS: number;
  readonly eventsPerS: number;
  readonly cpuUsPerRequest: number;
  /** NaN where the answers have no events. */
  readonly cpuUsPerEvent: number;
  readonly p50Us: number;
  readonly p99Us: number;
  readonly rssBytes: number;
  readonly ledgerEventsPerS: number;
  readonly loopDelayP50Ms: number;
  readonly loopDelayP99Ms: number;
}

export type Figures = readonly Figure[];

/** @throws Error when a sample of another contender or workload is among them. */
export function figureOf(samples: readonly Sample[]): Figure {
  const first = samples[0];
  if (first === undefined) throw new Error('a figure has at least one sample');
  const { workload, contender } = first;
  if (samples.some((sample) => sample.workload !== workload || sample.contender !== contender))
    throw new Error(`samples of ${workload} by ${contender} were mixed with others`);
  const over = (value: (sample: Sample) => number) => median(samples.map(value));
  const latency = ({ window }: Sample) => window[WORKLOADS[workload].latency ?? 'answer'];
  return {
    workload,
    contender,
    requestsPerS: over(({ window }) => window.requests / window.seconds),
    eventsPerS: over(({ window }) => window.events / window.seconds),
    cpuUsPerRequest: over(({ cpuUs, window }) => cpuUs / window.requests),
    cpuUsPerEvent: over(({ cpuUs, window }) => (window.events === 0 ? Number.NaN : cpuUs / window.events)),
    p50Us: over((sample) => latency(sample).p50Us),
    p99Us: over((sample) => latency(sample).p99Us),
    rssBytes: over(({ rssBytes }) => rssBytes),
    ledgerEventsPerS: over(({ ledger }) => ledger?.eventsPerS ?? Number.NaN),
    loopDelayP50Ms: over(({ ledger }) => ledger?.delay.p50Ms ?? Number.NaN),
    loopDelayP99Ms: over(({ ledger }) => ledger?.delay.p99Ms ?? Number.NaN),
  };
}

export function figureFor(figures: Figures, workload: WorkloadName, contender: ContenderName): Figure | null {
  return figures.find((figure) => figure.workload === workload && figure.contender === contender) ?? null;
}

/** What a contender adds to direct, in microseconds; null where either was not measured. */
export function addedP50Us(figures: Figures, workload: WorkloadName, contender: ContenderName): number | null {
  const own = figureFor(figures, workload, contender);
  const direct = figureFor(figures, workload, 'direct');
  return own === null || direct === null ? null : own.p50Us - direct.p50Us;
}
