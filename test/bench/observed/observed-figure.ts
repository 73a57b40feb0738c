import { median } from '../load/latencies.ts';
import {
  controlText,
  costOf,
  type RatioFigure,
  ratioFigure,
  ratioText,
  toBoth,
  type Windows,
} from '../rounds/ratio-figure.ts';

/** Windows of each, interleaved; `plain` and `control` differ in nothing. */
export interface ObservedRound {
  readonly observed: Windows;
  readonly plain: Windows;
  readonly control: Windows;
}

/** What access log and metrics together take: by the ratio of CPU a request, with them to without, of each round. */
export interface ObservedFigure extends RatioFigure {
  readonly observedCpuUs: number;
  readonly plainCpuUs: number;
  /** Of two gateways without them. */
  readonly control: RatioFigure;
}

export function observedFigure(rounds: readonly ObservedRound[]): ObservedFigure {
  const costs = rounds.map(({ observed, plain, control }) => ({
    observed: costOf(observed, 'request'),
    plain: costOf(plain, 'request'),
    control: costOf(control, 'request'),
  }));
  return {
    ...ratioFigure(costs.map(({ observed, plain, control }) => toBoth(observed, [plain, control]))),
    observedCpuUs: median(costs.map(({ observed }) => observed)),
    plainCpuUs: median(costs.flatMap(({ plain, control }) => [plain, control])),
    control: ratioFigure(costs.map(({ plain, control }) => control / plain)),
  };
}

export const observedReport = (figure: ObservedFigure): string =>
  `observed: ${figure.observedCpuUs.toFixed(1)} us of CPU a request with access log and metrics, ${figure.plainCpuUs.toFixed(1)} without; ` +
  `${ratioText(figure)}\n` +
  `  two gateways without them, one to the other: ${controlText(figure.control)}\n`;
