import type { Sample } from '../measure.ts';
import { WORKLOADS, type WorkloadName } from '../workloads.ts';
import { controlText, costOf, type RatioFigure, ratioFigure, ratioText, toBoth } from './ratio-figure.ts';

/** What a change costs: by the ratio of CPU, of this program to that of before, of each round. */
export interface ChangeFigure extends RatioFigure {
  readonly workload: WorkloadName;
  /** Of two processes of before. */
  readonly control: RatioFigure;
}

/** @throws Error where a round has not all three */
export function changeFigure(workload: WorkloadName, samples: readonly Sample[]): ChangeFigure {
  const { per } = WORKLOADS[workload];
  const costs = [...Map.groupBy(samples, ({ round }) => round).values()].map((windows) => {
    const cost = (name: Sample['contender']): number => {
      const own = windows.filter(({ contender }) => contender === name);
      if (own.length === 0) throw new Error(`each round has windows of ${name}`);
      return costOf(own, per);
    };
    return { ours: cost('ours'), before: cost('before'), control: cost('control') };
  });
  return {
    workload,
    ...ratioFigure(costs.map(({ ours, before, control }) => toBoth(ours, [before, control]))),
    control: ratioFigure(costs.map(({ before, control }) => control / before)),
  };
}

export const changeReport = (figure: ChangeFigure): string =>
  `CPU of ${WORKLOADS[figure.workload].per === 'event' ? 'an event' : 'a request'}, ours to before: ${ratioText(figure)}\n` +
  `  control, another process of before, to before: ${controlText(figure.control)}\n`;
