import Table from 'cli-table3';
import { median } from '../load/latencies.ts';
import type { SettlementLog, SettlementSpread, SettlementWindow } from './settlement-protocol.ts';

/** What one window of one log and spread showed. */
export interface SettlementSample {
  readonly log: SettlementLog;
  readonly spread: SettlementSpread;
  readonly round: number;
  readonly window: SettlementWindow;
  /** CPU time of the settler's process within the window, and of the event store's; 0 where there is none. */
  readonly settlerCpuUs: number;
  readonly storeCpuUs: number;
  /** Cores that everything else on the machine took. */
  readonly othersShare: number;
}

/** Medians over the rounds. */
export interface SettlementFigure {
  readonly log: SettlementLog;
  readonly spread: SettlementSpread;
  readonly settledPerS: number;
  readonly requestsPerAppend: number;
  readonly p50Us: number;
  readonly p99Us: number;
  readonly settlerCpuUsPerRequest: number;
  readonly settlerCpuUsPerAppend: number;
  readonly storeCpuUsPerRequest: number;
}

export type SettlementFigures = readonly SettlementFigure[];

/** One figure for each log and spread, in the order in which they were first measured. */
export function settlementFigures(samples: readonly SettlementSample[]): SettlementFigure[] {
  return [...Map.groupBy(samples, ({ log, spread }) => `${log} ${spread}`).values()].map(figureOf);
}

export const settlementFigureFor = (
  figures: SettlementFigures,
  log: SettlementLog,
  spread: SettlementSpread,
): SettlementFigure | null => figures.find((figure) => figure.log === log && figure.spread === spread) ?? null;

function figureOf(samples: readonly SettlementSample[]): SettlementFigure {
  const [first] = samples;
  if (first === undefined) throw new Error('a figure has at least one sample');
  const over = (value: (sample: SettlementSample) => number) => median(samples.map(value));
  return {
    log: first.log,
    spread: first.spread,
    settledPerS: over(({ window }) => window.settled / window.seconds),
    requestsPerAppend: over(({ window }) => window.settled / window.appends),
    p50Us: over(({ window }) => window.p50Us),
    p99Us: over(({ window }) => window.p99Us),
    settlerCpuUsPerRequest: over(({ window, settlerCpuUs }) => settlerCpuUs / window.settled),
    settlerCpuUsPerAppend: over(({ window, settlerCpuUs }) => settlerCpuUs / window.appends),
    storeCpuUsPerRequest: over(({ window, storeCpuUs }) => storeCpuUs / window.settled),
  };
}

export function settlementReport(figures: SettlementFigures): string {
  const table = new Table({
    head: [
      'spread over',
      'log',
      'settled/s',
      'a group',
      'p50, p99 ms',
      'CPU µs/request',
      'µs/append',
      'the store’s/request',
    ],
    style: { head: [], border: [], compact: true },
  });
  for (const figure of figures)
    table.push([
      figure.spread,
      figure.log,
      figure.settledPerS.toFixed(0),
      figure.requestsPerAppend.toFixed(1),
      `${(figure.p50Us / 1000).toFixed(1)}, ${(figure.p99Us / 1000).toFixed(1)}`,
      figure.settlerCpuUsPerRequest.toFixed(0),
      figure.settlerCpuUsPerAppend.toFixed(0),
      figure.storeCpuUsPerRequest === 0 ? '' : figure.storeCpuUsPerRequest.toFixed(0),
    ]);
  return `settlements, without HTTP: usage and debit of finished requests into the ledger and the views\n${table.toString()}\n`;
}
