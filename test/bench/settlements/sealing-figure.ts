import { median } from '../load/latencies.ts';
import { type RatioFigure, ratioFigure, ratioText } from '../rounds/ratio-figure.ts';
import type { SettlementSample } from './settlement-figures.ts';

/** What sealing takes of the settled requests/s: by the ratio, without it to with it, of each round; and what CPU it takes. */
export interface SealingFigure extends RatioFigure {
  readonly plainPerS: number;
  readonly sealedPerS: number;
  /** All threads of the process, which on a machine of idle cores is no time of the settlement's. */
  readonly plainCpuUs: number;
  readonly sealedCpuUs: number;
}

/** @throws Error where a round has not both */
export function sealingFigure(samples: readonly SettlementSample[]): SealingFigure {
  const rateOf = ({ window }: SettlementSample): number => window.settled / window.seconds;
  const of = (log: string): SettlementSample[] =>
    samples.filter((sample) => sample.log === log).toSorted((one, other) => one.round - other.round);
  const [plain, sealed] = [of('sqlite').map(rateOf), of('sqlite-sealed').map(rateOf)];
  if (plain.length === 0 || plain.length !== sealed.length) throw new Error('each round has one window of each');
  const cpuUsOf = (log: string): number =>
    median(of(log).map(({ settlerCpuUs, window }) => settlerCpuUs / window.settled));
  const ratios = plain.map((perS, round) => perS / (sealed[round] ?? 0));
  return {
    ...ratioFigure(ratios),
    plainPerS: median(plain),
    sealedPerS: median(sealed),
    ...{ plainCpuUs: cpuUsOf('sqlite'), sealedCpuUs: cpuUsOf('sqlite-sealed') },
  };
}

export const sealingReport = ({ plainPerS, sealedPerS, plainCpuUs, sealedCpuUs, ...ratio }: SealingFigure): string =>
  `sealing: ${plainPerS.toFixed(0)} settled/s without, ${sealedPerS.toFixed(0)} with; ${ratioText(ratio)} (at most 1.05); ` +
  `${plainCpuUs.toFixed(1)} and ${sealedCpuUs.toFixed(1)} us of CPU a request\n`;
