import { median } from '../load/latencies.ts';
import type { CostSample } from './measure-together.ts';

/** What ratios say, one a round, whatever their distribution. */
export interface RatioFigure {
  readonly rounds: number;
  readonly medianRatio: number;
  /** Below or above which the true median is in one of twenty such runs each, at the most; null where there are too few rounds to say. */
  readonly lower95: number | null;
  readonly upper95: number | null;
  readonly least: number;
  readonly most: number;
}

export function ratioFigure(ratios: readonly number[]): RatioFigure {
  const ordered = ratios.toSorted((one, other) => one - other);
  const place = placeOfUpperBound(ordered.length);
  const at = (index: number): number => ordered.at(index) ?? Number.NaN;
  return {
    rounds: ordered.length,
    medianRatio: median(ordered),
    lower95: place === null ? null : at(-1 - place),
    upper95: place === null ? null : at(place),
    ...{ least: at(0), most: at(-1) },
  };
}

/** CPU of a request, or of an event. @throws Error where it was not measured */
export function costOf(sample: CostSample | undefined, per: 'request' | 'event' = 'request'): number {
  if (sample === undefined) throw new Error('each round has two of each');
  return sample.cpuUs / (per === 'event' ? sample.window.events : sample.window.requests);
}

type Two = readonly [number, number];

/** Of a round: what two processes of one kind cost, and two of another. */
export interface CostsOfTwo {
  readonly over: Two;
  readonly under: Two;
}

/** The ratios of rounds of four processes, and what they would be if nothing but chance made them. */
export interface ComparedFigure extends RatioFigure {
  /**
   * Of the same processes, one of each kind to the other of each: 1 but for chance, which has exactly as much of a hand in it.
   */
  readonly control: RatioFigure;
  /** In the order of the rounds. */
  readonly costs: readonly CostsOfTwo[];
}

/** By the geometric means of two, for one process alone may have had luck. */
export function comparedFigure(rounds: readonly CostsOfTwo[]): ComparedFigure {
  const ratios = rounds.map(({ over, under }) => Math.sqrt((over[0] * over[1]) / (under[0] * under[1])));
  const control = rounds.map(({ over, under }) => Math.sqrt((over[0] * under[0]) / (over[1] * under[1])));
  return { ...ratioFigure(ratios), control: ratioFigure(control), costs: rounds };
}

export const ratioText = ({ rounds, medianRatio, upper95 }: RatioFigure): string =>
  `ratio of ${rounds} rounds ${medianRatio.toFixed(3)}, upper 95% bound ${bound(upper95)}`;

/** How far chance goes. */
export const controlText = ({ control: { medianRatio, lower95, upper95, least, most } }: ComparedFigure): string =>
  `control, one process of each to the other of each: ratio ${medianRatio.toFixed(3)}, 95% bounds ${bound(lower95)} and ${bound(upper95)}, single rounds ${least.toFixed(3)} to ${most.toFixed(3)}`;

/** Whether chance alone goes as far as what is to be told from it: then the run says little. */
export const isTooWide = ({ control: { lower95, upper95 } }: ComparedFigure): boolean =>
  lower95 !== null && upper95 !== null && upper95 / lower95 > TOLD_MOST;

const TOLD_MOST = 1.05;

const bound = (value: number | null): string => (value === null ? 'unknown' : value.toFixed(3));

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
