import type { ContenderName } from '../contenders/contender.ts';
import { WORKLOADS, type WorkloadName } from '../workloads.ts';
import type { MeasuredRound } from './measure-rounds.ts';
import { type ComparedFigure, comparedFigure, controlText, costOf, ratioText } from './ratio-figure.ts';

/** What a change costs: by the ratio of CPU, of this program to that of before, of each round. */
export interface ChangeFigure extends ComparedFigure {
  readonly workload: WorkloadName;
}

type Together = Pick<MeasuredRound<ContenderName>, 'together'>;

/** @throws Error where a round has not two of each */
export function changeFigure(workload: WorkloadName, rounds: readonly Together[]): ChangeFigure {
  const { per } = WORKLOADS[workload];
  const costs = rounds.map(({ together }) => {
    const cost = (name: ContenderName): number => costOf(together.get(name), per);
    return {
      over: [cost('ours'), cost('ours-again')] as const,
      under: [cost('before'), cost('before-again')] as const,
    };
  });
  return { workload, ...comparedFigure(costs) };
}

export const changeReport = (figure: ChangeFigure): string =>
  `CPU of ${WORKLOADS[figure.workload].per === 'event' ? 'an event' : 'a request'}, ours to before: ${ratioText(figure)}\n` +
  `  ${controlText(figure)}\n`;
