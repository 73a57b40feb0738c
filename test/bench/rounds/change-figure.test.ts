import { expect, test } from 'vitest';
import { changeFigure, changeReport } from './change-figure.ts';

const NAMES = ['ours', 'ours-again', 'before', 'before-again'] as const;
const LATENCY = { p50Us: 0, p99Us: 0 };
const WINDOW = { seconds: 1, requests: 10, events: 100, answer: LATENCY, firstByte: LATENCY, delay: LATENCY };
const round = (...costs: readonly number[]) => ({
  together: new Map(costs.map((cpuUs, index) => [NAMES[index] ?? 'floor', { cpuUs, window: WINDOW }] as const)),
});

test('what a change costs is the median of the rounds, each compared with its own processes of before', () => {
  const rounds = [110, 220, 330, 480, 550].map((ours, index) => {
    const before = 100 * (index + 1);
    return round(ours * 3, ours / 3, before * 2, before / 2, 1);
  });
  const figure = changeFigure('json', rounds);
  expect(figure).toMatchObject({ workload: 'json', rounds: 5 });
  expect([figure.medianRatio, figure.upper95, figure.control.medianRatio].map((value) => value?.toFixed(6))).toEqual([
    ...['1.100000', '1.200000', '6.000000'],
  ]);
  const report =
    /^CPU of a request, ours to before: ratio of 5 rounds 1\.100, upper 95% bound 1\.200\n {2}control, .* 6\.000/;
  expect(changeReport(figure)).toMatch(report);
});

test('of streams an event is what counts, and a round without two of each is none', () => {
  const figure = changeFigure('burst', [round(100, 100, 100, 100)]);
  expect(changeReport(figure)).toMatch(/^CPU of an event, ours to before: ratio of 1 rounds 1\.000/);
  expect(figure.costs).toEqual([{ over: [1, 1], under: [1, 1] }]);
  expect(() => changeFigure('burst', [round(100, 100, 100)])).toThrow('each round has two of each');
});
