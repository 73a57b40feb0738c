import { median } from '../load/latencies.ts';
import type { WholeRun } from './whole-run.ts';

/** A rebuild of all views, and what reading the same log costs by itself before it. */
export interface RebuildSample {
  readonly log: 'sqlite' | 'eventstoredb';
  readonly bare: WholeRun;
  readonly rebuild: WholeRun & { readonly peakRssBytes: number };
}

/** Medians; of the ratios within each pair. */
export interface RebuildFigure {
  readonly log: RebuildSample['log'];
  readonly bareSeconds: number;
  readonly seconds: number;
  readonly timeRatio: number;
  readonly cpuRatio: number;
  readonly peakRssBytes: number;
}

export const rebuildFigures = (samples: readonly RebuildSample[]): RebuildFigure[] =>
  [...Map.groupBy(samples, ({ log }) => log)].map(([log, ofLog]) => {
    const over = (value: (sample: RebuildSample) => number) => median(ofLog.map(value));
    return {
      log,
      bareSeconds: over(({ bare }) => bare.seconds),
      seconds: over(({ rebuild }) => rebuild.seconds),
      timeRatio: over(({ bare, rebuild }) => rebuild.seconds / bare.seconds),
      cpuRatio: over(({ bare, rebuild }) => rebuild.cpuSeconds / bare.cpuSeconds),
      peakRssBytes: Math.max(...ofLog.map(({ rebuild }) => rebuild.peakRssBytes)),
    };
  });

/** One window of a paying client in each company. */
export interface BesideSample {
  readonly aloneP99Us: number;
  /** Beside a rebuild that is none of the gateway's. */
  readonly otherP99Us: number;
  readonly besideP99Us: number;
}

/** Medians; of the ratios within each round. */
export interface BesideFigure {
  readonly aloneP99Us: number;
  readonly p99Ratio: number;
  /** The same beside the other: what the machine does to it, whatever the gateway does. */
  readonly otherRatio: number;
}

export function besideFigure(samples: readonly BesideSample[]): BesideFigure {
  const over = (value: (sample: BesideSample) => number) => median(samples.map(value));
  return {
    aloneP99Us: over(({ aloneP99Us }) => aloneP99Us),
    p99Ratio: over(({ aloneP99Us, besideP99Us }) => besideP99Us / aloneP99Us),
    otherRatio: over(({ aloneP99Us, otherP99Us }) => otherP99Us / aloneP99Us),
  };
}

export const besideReport = ({ aloneP99Us, p99Ratio, otherRatio }: BesideFigure): string =>
  `p99 of a paying client: ${(aloneP99Us / 1_000).toFixed(1)} ms, beside a rebuild and its switch ${p99Ratio.toFixed(2)}x; ` +
  `beside a rebuild of another folder ${otherRatio.toFixed(2)}x\n`;

const BARE = { sqlite: 'bare scan', eventstoredb: 'bare readAll' };

export const rebuildReport = (figures: readonly RebuildFigure[]): string =>
  figures
    .map(
      ({ log, bareSeconds, seconds, timeRatio, cpuRatio, peakRssBytes }) =>
        `rebuild of all views from ${log}: ${seconds.toFixed(2)} s, ${BARE[log]} ${bareSeconds.toFixed(2)} s: ` +
        `${timeRatio.toFixed(2)}x (CPU ${cpuRatio.toFixed(2)}x); at most ${(peakRssBytes / 1_000_000).toFixed(0)} MB resident\n`,
    )
    .join('');
