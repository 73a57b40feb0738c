import { expect, test } from 'vitest';
import type { Sample } from '../measure.ts';
import type { MeasuredRound } from '../rounds/measure-rounds.ts';
import { type ObservedName, observedFigure, observedReport } from './observed-figure.ts';

const LATENCY = { p50Us: 0, p99Us: 0 };
const WINDOW = { seconds: 1, requests: 20, events: 0, answer: LATENCY, firstByte: LATENCY, delay: LATENCY };
const REST = { rssBytes: 0, loadShare: 0, upstreamShare: 0, othersShare: 0, ledger: null };
const sample = (cpuUs: number): Sample => ({
  ...{ workload: 'json', contender: 'ours', round: 0, cpuUs: cpuUs * 20, window: WINDOW, ...REST },
});
const round = (observed: number, plain: number): MeasuredRound<ObservedName> => {
  const of = (part: number) =>
    new Map<ObservedName, Sample>([
      ['observed', sample(observed * part * 3)],
      ['plain', sample((plain * part) / 2)],
      ['plain again', sample(plain * part * 2)],
      ['observed again', sample((observed * part) / 3)],
    ]);
  return { alone: of(1), together: of(2) };
};

test('what observing takes is the median of the rounds, of all at once; what a request costs is told of each alone', () => {
  const figure = observedFigure([round(110, 100), round(360, 300), round(206, 200), round(105, 100), round(99, 100)]);
  expect([figure.medianRatio, figure.upper95, figure.control.medianRatio].map((value) => value?.toFixed(6))).toEqual([
    ...['1.050000', '1.200000', '1.500000'],
  ]);
  expect(figure.costs[0]).toEqual({ over: [660, 220 / 3], under: [100, 400] });
  const report = observedReport(figure);
  expect(report).toMatch(/^observed: 208\.5 us of CPU a request with access log and metrics, 175\.0 without; /);
  expect(report).toContain('ratio of 5 rounds 1.050, upper 95% bound 1.200');
  expect(report).toContain('one process of each to the other of each: ratio 1.500, 95% bounds 1.500 and 1.500');
  expect(observedReport(observedFigure([round(1, 1)]))).toContain('upper 95% bound unknown');
});
