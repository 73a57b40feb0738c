import { setTimeout } from 'node:timers/promises';
import type { Contender } from '../contenders/contender.ts';
import type { LoadGenerator } from '../load-generator.ts';
import { loadOf, type Sample } from '../measure.ts';
import type { Options } from '../options.ts';
import { usageOf } from '../process-usage.ts';
import { WORKLOADS, type WorkloadName } from '../workloads.ts';

/** What a request has cost in a window. */
export type CostSample = Pick<Sample, 'cpuUs' | 'window'>;

/** A contender, and what puts it under load. */
export interface Loaded {
  readonly contender: Contender;
  readonly load: LoadGenerator;
}

interface TogetherRun {
  readonly workload: WorkloadName;
  readonly options: Pick<Options, 'body' | 'settleMs'>;
  readonly windowMs: number;
}

/**
 * Puts all under load at once, each under its part of it, for one window. On one core the scheduler gives them turns of some
 * milliseconds: whatever else the machine does meanwhile meets all of them alike. @throws Error when an answer was not 200
 */
export async function measureTogether(
  loaded: readonly Loaded[],
  { workload, options, windowMs }: TogetherRun,
): Promise<CostSample[]> {
  const { connections, requestsPerS, ...whole } = WORKLOADS[workload];
  const part = {
    ...whole,
    connections: Math.max(1, Math.floor(connections / loaded.length)),
    requestsPerS: requestsPerS === null ? null : requestsPerS / loaded.length,
  };
  await Promise.all(loaded.map(({ contender, load }) => load.start(loadOf(contender, part, options))));
  await setTimeout(options.settleMs);
  const used = (): number[] => loaded.map(({ contender }) => usageOf(contender.pids).cpuUs);
  await Promise.all(loaded.map(({ load }) => load.mark()));
  const before = used();
  await setTimeout(windowMs);
  const after = used();
  const windows = await Promise.all(loaded.map(({ load }) => load.read()));
  await Promise.all(loaded.map(({ load }) => load.stop()));
  return windows.map((window, index) => ({ window, cpuUs: (after[index] ?? 0) - (before[index] ?? 0) }));
}
