import Table from 'cli-table3';
import type { ContenderName } from '../contenders/contender.ts';

/** Where the search is made: so many streams, in steps. */
export interface StreamsRange {
  readonly step: number;
  readonly most: number;
}

/** The most streams that a contender held, and what it did with them. */
export interface StreamsFigure {
  readonly contender: ContenderName;
  /** 0 where it did not even hold one step; the most that was tried where it held all. */
  readonly streams: number;
  /** Of an event's way, above that without a proxy; NaN where none was held. */
  readonly addedP99Ms: number;
  /** The same without a proxy. */
  readonly bareP99Ms: number;
  readonly cpuUsPerEvent: number;
  /** Why it did not hold a step more; null where all were held. */
  readonly why: string | null;
}

/** The highest number of the range that holds, where each below one that holds does, too; by halves. */
export async function mostThatHold<Tried extends { readonly holds: boolean }>(
  { step, most }: StreamsRange,
  attempt: (streams: number) => Promise<Tried>,
): Promise<{ streams: number; held: Tried | null; failed: Tried | null }> {
  let [low, high] = [0, Math.floor(most / step) + 1];
  let held: Tried | null = null;
  let failed: Tried | null = null;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    const tried = await attempt(middle * step);
    if (tried.holds) [low, held] = [middle, tried];
    else [high, failed] = [middle, tried];
  }
  return { streams: low * step, held, failed };
}

/** Null where one of the two was not measured, or the other held none. */
export function streamsRatio(figures: readonly StreamsFigure[], over: ContenderName, under: ContenderName) {
  const [above, below] = [over, under].map((name) => figures.find(({ contender }) => contender === name)?.streams);
  return above === undefined || below === undefined || below === 0 ? null : above / below;
}

export function streamsReport(figures: readonly StreamsFigure[], { step, most }: StreamsRange): string {
  const head = [
    'contender',
    'streams',
    'added p99 ms',
    'without a proxy',
    'CPU µs/event',
    'to the floor',
    `with ${step} more`,
  ];
  const table = new Table({ head, style: { head: [], border: [], compact: true } });
  for (const { contender, streams, addedP99Ms, bareP99Ms, cpuUsPerEvent, why } of figures) {
    const ratio = streamsRatio(figures, contender, 'floor');
    table.push([
      contender,
      why === null ? `${most} or more` : streams,
      ...[addedP99Ms, bareP99Ms, cpuUsPerEvent].map((value) => (Number.isNaN(value) ? '' : value.toFixed(1))),
      ratio === null ? '' : `${ratio.toFixed(2)}x`,
      why ?? '',
    ]);
  }
  return `streams: at 20 events/s each, with an event's added delay p99 below 20 ms\n${table.toString()}\n`;
}
