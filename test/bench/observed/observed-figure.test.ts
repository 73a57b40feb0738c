import { expect, test } from 'vitest';
import type { Sample } from '../measure.ts';
import { type ObservedRound, observedFigure, observedReport } from './observed-figure.ts';

const LATENCY = { p50Us: 0, p99Us: 0 };
const measured = (...windows: readonly [cpuUs: number, requests: number][]): ObservedRound['plain'][0] =>
  windows.map(([cpuUs, requests]) => ({
    cpuUs,
    window: { seconds: 1, requests, events: 0, answer: LATENCY, firstByte: LATENCY } as Sample['window'],
  }));

test('what observing takes is the median of the rounds, each compared with its own that do not', () => {
  const round = (observed: number, plain: number): ObservedRound => ({
    observed: [measured([observed * 4, 3], [observed * 6, 7]), measured([observed * 4, 4])],
    plain: [measured([plain * 10, 20]), measured([plain * 40, 20])],
  });
  const figure = observedFigure([round(110, 100), round(360, 300), round(206, 200), round(105, 100), round(99, 100)]);
  expect(figure).toMatchObject({ rounds: 5, observedCpuUs: 110, plainCpuUs: 175, medianRatio: 1.05, upper95: 1.2 });
  expect(figure.control).toMatchObject({ rounds: 5, medianRatio: 0.5, upper95: 0.5 });
  const report = observedReport(figure);
  expect(report).toContain('ratio of 5 rounds 1.050, upper 95% bound 1.200');
  expect(report).toContain('one process of each to the other of each: ratio 0.500, 95% bounds 0.500 and 0.500');
  expect(observedReport(observedFigure([round(1, 1)]))).toContain('upper 95% bound unknown');
});
