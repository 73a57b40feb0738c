import { median } from '../load/latencies.ts';
import {
  type ComparedFigure,
  comparedFigure,
  controlText,
  costOf,
  ratioText,
  type Windows,
} from '../rounds/ratio-figure.ts';

type WindowsOfTwo = readonly [Windows, Windows];

/** Windows of two processes of each, interleaved. */
export interface ObservedRound {
  readonly observed: WindowsOfTwo;
  readonly plain: WindowsOfTwo;
}

/** What access log and metrics together take: by the ratio of CPU a request, with them to without, of each round. */
export interface ObservedFigure extends ComparedFigure {
  readonly observedCpuUs: number;
  readonly plainCpuUs: number;
}

export function observedFigure(rounds: readonly ObservedRound[]): ObservedFigure {
  const costs = ([one, other]: WindowsOfTwo) => [costOf(one, 'request'), costOf(other, 'request')] as const;
  const compared = rounds.map(({ observed, plain }) => ({ over: costs(observed), under: costs(plain) }));
  return {
    ...comparedFigure(compared),
    observedCpuUs: median(compared.flatMap(({ over }) => over)),
    plainCpuUs: median(compared.flatMap(({ under }) => under)),
  };
}

export const observedReport = (figure: ObservedFigure): string =>
  `observed: ${figure.observedCpuUs.toFixed(1)} us of CPU a request with access log and metrics, ${figure.plainCpuUs.toFixed(1)} without; ` +
  `${ratioText(figure)}\n  ${controlText(figure)}\n`;
