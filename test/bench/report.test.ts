import { expect, test } from 'vitest';
import { type Figure, figureOf } from './figures.ts';
import { judge } from './goals.ts';
import type { Sample } from './measure.ts';
import { goalsReport, workloadReport } from './report.ts';

function figure(contender: Sample['contender'], requests: number, cpuUs: number): Figure {
  const latency = { p50Us: 1_000, p99Us: 2_000 };
  const window = { seconds: 1, requests, events: 0, answer: latency, firstByte: latency, delay: latency };
  const rest = { round: 0, rssBytes: 5_000_000, loadShare: 0, upstreamShare: 0, othersShare: 0, ledger: null };
  return figureOf([{ workload: 'json', contender, window, cpuUs, ...rest }]);
}

const FIGURES = [figure('direct', 4_000, 0), figure('floor', 2_000, 40_000), figure('ours', 1_000, 100_000)];

/** Cells of the row that begins with this. */
const row = (report: string, start: string) =>
  report
    .split('\n')
    .map((line) => line.split('│').map((cell) => cell.trim()))
    .find((cells) => cells[1] === start)
    ?.slice(2, -1);

test('ours stands as a ratio beside each of the others', () => {
  const report = workloadReport(FIGURES, 'json');
  expect(row(report, 'direct')).toEqual(['4000', '', '1.00, 2.00', '', '5', '', '0.25x']);
  expect(row(report, 'floor')).toEqual(['2000', '20.0', '1.00, 2.00', '0.00, 0.00', '5', '5.00x', '0.50x']);
  expect(row(report, 'ours')).toEqual(['1000', '100.0', '1.00, 2.00', '0.00, 0.00', '5', '', '']);
});

test('where events count, events are shown', () => {
  const burst = FIGURES.map((plain) => ({ ...plain, workload: 'burst' as const, eventsPerS: 500, cpuUsPerEvent: 2 }));
  const report = workloadReport(burst, 'burst');
  expect(report).toContain('events/s');
  expect(row(report, 'floor')?.slice(0, 2)).toEqual(['500', '2.00']);
});

test('each goal stands with its verdict', () => {
  const report = goalsReport(judge(FIGURES));
  expect(row(report, 'JSON: CPU per request, ours to the floor')).toEqual(['at most 2x', '5x', 'fell short by 150%']);
  expect(row(report, 'JSON: requests/s, ours to Portkey')).toEqual(['at least 6x', '', 'not measured']);
});
