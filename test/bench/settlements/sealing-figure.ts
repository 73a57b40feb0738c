import { median } from '../load/latencies.ts';
import type { SettlementSample } from './settlement-figures.ts';

/** What sealing takes of the settled requests/s: by the ratio, without it to with it, of each round; and what CPU it takes. */
export interface SealingFigure {
  readonly rounds: number;
  readonly plainPerS: number;
  readonly sealedPerS: number;
  readonly medianRatio: number;
  /** Above which the true median is in one of twenty such runs, at the most; null where there are too few rounds to say. */
  readonly upper95: number | null;
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
  const place = placeOfUpperBound(ratios.length);
  return {
    rounds: ratios.length,
    plainPerS: median(plain),
    sealedPerS: median(sealed),
    medianRatio: median(ratios),
    ...{ plainCpuUs: cpuUsOf('sqlite'), sealedCpuUs: cpuUsOf('sqlite-sealed') },
    upper95: place === null ? null : (ratios.toSorted((one, other) => one - other)[place] ?? null),
  };
}

const LEFT_OUT_MOST = 0.05;

/**
 * Which of the ratios in order bounds the median from above, whatever their distribution: each is below the median as a coin
 * falls, so that the n-th is not above it with the chance that n or more coins of all fall so.
 */
export function placeOfUpperBound(count: number): number | null {
  let chance = 0;
  let ways = 1;
  let place: number | null = null;
  for (let heads = count; heads > 0; heads--) {
    chance += ways / 2 ** count;
    if (chance > LEFT_OUT_MOST) break;
    place = heads - 1;
    ways = (ways * heads) / (count - heads + 1);
  }
  return place;
}

export const sealingReport = ({ rounds, plainPerS, sealedPerS, medianRatio, upper95, ...cpu }: SealingFigure): string =>
  `sealing: ${plainPerS.toFixed(0)} settled/s without, ${sealedPerS.toFixed(0)} with; ` +
  `ratio of ${rounds} rounds ${medianRatio.toFixed(3)}, upper 95% bound ${upper95 === null ? 'unknown' : upper95.toFixed(3)} (at most 1.05); ` +
  `${cpu.plainCpuUs.toFixed(1)} and ${cpu.sealedCpuUs.toFixed(1)} us of CPU a request\n`;
