import { median } from '../load/latencies.ts';
import type { Sample } from '../measure.ts';
import { placeOfUpperBound } from '../settlements/sealing-figure.ts';

/** A window of each, one after the other. */
export interface ObservedRound {
  readonly observed: Pick<Sample, 'cpuUs' | 'window'>;
  readonly plain: Pick<Sample, 'cpuUs' | 'window'>;
}

/** What access log and metrics together take: by the ratio of CPU a request, with them to without, of each round. */
export interface ObservedFigure {
  readonly rounds: number;
  readonly observedCpuUs: number;
  readonly plainCpuUs: number;
  readonly medianRatio: number;
  /** Above which the true median is in one of twenty such runs, at the most; null where there are too few rounds to say. */
  readonly upper95: number | null;
}

export function observedFigure(rounds: readonly ObservedRound[]): ObservedFigure {
  const cpuOf = ({ cpuUs, window }: ObservedRound['plain']): number => cpuUs / window.requests;
  const ratios = rounds.map(({ observed, plain }) => cpuOf(observed) / cpuOf(plain));
  const place = placeOfUpperBound(ratios.length);
  return {
    rounds: ratios.length,
    observedCpuUs: median(rounds.map(({ observed }) => cpuOf(observed))),
    plainCpuUs: median(rounds.map(({ plain }) => cpuOf(plain))),
    medianRatio: median(ratios),
    upper95: place === null ? null : (ratios.toSorted((one, other) => one - other)[place] ?? null),
  };
}

export const observedReport = ({ rounds, observedCpuUs, plainCpuUs, medianRatio, upper95 }: ObservedFigure): string =>
  `observed: ${observedCpuUs.toFixed(1)} us of CPU a request with access log and metrics, ${plainCpuUs.toFixed(1)} without; ` +
  `ratio of ${rounds} rounds ${medianRatio.toFixed(3)}, upper 95% bound ${upper95 === null ? 'unknown' : upper95.toFixed(3)}\n`;
