import type { Sample } from '../measure.ts';
import { WORKLOADS, type WorkloadName } from '../workloads.ts';
import { type ComparedFigure, comparedFigure, controlText, costOf, ratioText } from './ratio-figure.ts';

/** What a change costs: by the ratio of CPU, of this program to that of before, of each round. */
export interface ChangeFigure extends ComparedFigure {
  readonly workload: WorkloadName;
}

/** @throws Error where a round has not two of each */
export function changeFigure(workload: WorkloadName, samples: readonly Sample[]): ChangeFigure {
  const { per } = WORKLOADS[workload];
  const rounds = [...Map.groupBy(samples, ({ round }) => round).values()].map((windows) => {
    const cost = (name: Sample['contender']): number => {
      const own = windows.filter(({ contender }) => contender === name);
      if (own.length === 0) throw new Error(`each round has windows of ${name}`);
      return costOf(own, per);
    };
    return {
      over: [cost('ours'), cost('ours-again')] as const,
      under: [cost('before'), cost('before-again')] as const,
    };
  });
  return { workload, ...comparedFigure(rounds) };
}

export const changeReport = (figure: ChangeFigure): string =>
  `CPU of ${WORKLOADS[figure.workload].per === 'event' ? 'an event' : 'a request'}, ours to before: ${ratioText(figure)}\n` +
  `  ${controlText(figure)}\n`;
