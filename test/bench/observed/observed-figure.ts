import { median } from '../load/latencies.ts';
import type { Sample } from '../measure.ts';
import { placeOfUpperBound } from '../settlements/sealing-figure.ts';

type Windows = readonly Pick<Sample, 'cpuUs' | 'window'>[];

/** Windows of each, interleaved. */
export interface ObservedRound {
  readonly observed: Windows;
  readonly plain: Windows;
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
  const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0);
  const cpuOf = (windows: Windows): number =>
    sum(windows.map(({ cpuUs }) => cpuUs)) / sum(windows.map(({ window }) => window.requests));
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
