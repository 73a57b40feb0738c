import { median } from '../load/latencies.ts';

interface CopyRun {
  readonly events: number;
  readonly seconds: number;
  readonly peakRssBytes: number;
}

/** A copy, and the same appends, many at once, before it. */
export interface CopySample {
  readonly appends: CopyRun;
  readonly copy: CopyRun;
}

/** Medians; of the ratio within each pair. */
export interface CopyFigure {
  readonly events: number;
  readonly appendedPerS: number;
  readonly copiedPerS: number;
  readonly rateRatio: number;
  readonly peakRssBytes: number;
}

/** Null where nothing was measured. */
export function copyFigure(samples: readonly CopySample[]): CopyFigure | null {
  if (samples.length === 0) return null;
  const over = (value: (sample: CopySample) => number) => median(samples.map(value));
  return {
    events: over(({ copy }) => copy.events),
    appendedPerS: over(({ appends }) => appends.events / appends.seconds),
    copiedPerS: over(({ copy }) => copy.events / copy.seconds),
    rateRatio: over(({ appends, copy }) => appends.seconds / copy.seconds),
    peakRssBytes: Math.max(...samples.map(({ copy }) => copy.peakRssBytes)),
  };
}

export const copyReport = ({ events, appendedPerS, copiedPerS, rateRatio, peakRssBytes }: CopyFigure): string =>
  `copy of ${events} events to an event store: ${copiedPerS.toFixed(0)}/s, ${rateRatio.toFixed(2)} of the ` +
  `${appendedPerS.toFixed(0)}/s that it takes; at most ${(peakRssBytes / 1_000_000).toFixed(0)} MB resident\n`;
