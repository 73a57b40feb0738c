import { median } from '../load/latencies.ts';
import type { Sample } from '../measure.ts';
import type { MeasuredRound } from '../rounds/measure-rounds.ts';
import type { CostSample } from '../rounds/measure-together.ts';
import { type ComparedFigure, comparedFigure, controlText, costOf, ratioText } from '../rounds/ratio-figure.ts';

/** Two gateways with access log and metrics, and two with neither. */
export type ObservedName = 'observed' | 'plain' | 'plain again' | 'observed again';

/** What access log and metrics together take: by the ratio of CPU a request, with them to without, of each round. */
export interface ObservedFigure extends ComparedFigure {
  /** Each alone. */
  readonly observedCpuUs: number;
  readonly plainCpuUs: number;
}

/** @throws Error where a round has not two of each */
export function observedFigure(rounds: readonly MeasuredRound<ObservedName>[]): ObservedFigure {
  const of = (costs: ReadonlyMap<ObservedName, CostSample | Sample>) => ({
    over: [costOf(costs.get('observed')), costOf(costs.get('observed again'))] as const,
    under: [costOf(costs.get('plain')), costOf(costs.get('plain again'))] as const,
  });
  const alone = rounds.map((round) => of(round.alone));
  return {
    ...comparedFigure(rounds.map((round) => of(round.together))),
    observedCpuUs: median(alone.flatMap(({ over }) => over)),
    plainCpuUs: median(alone.flatMap(({ under }) => under)),
  };
}

export const observedReport = (figure: ObservedFigure): string =>
  `observed: ${figure.observedCpuUs.toFixed(1)} us of CPU a request with access log and metrics, ${figure.plainCpuUs.toFixed(1)} without; ` +
  `${ratioText(figure)}\n  ${controlText(figure)}\n`;
