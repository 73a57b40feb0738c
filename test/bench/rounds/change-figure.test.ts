import { expect, test } from 'vitest';
import type { Sample } from '../measure.ts';
import type { WorkloadName } from '../workloads.ts';
import { changeFigure, changeReport } from './change-figure.ts';

const LATENCY = { p50Us: 0, p99Us: 0 };
const sample = (workload: WorkloadName, round: number, contender: Sample['contender'], cpuUs: number): Sample => ({
  ...{ workload, contender, round, cpuUs, rssBytes: 0, loadShare: 0, upstreamShare: 0, othersShare: 0, ledger: null },
  window: { seconds: 1, requests: 10, events: 100, answer: LATENCY, firstByte: LATENCY, delay: LATENCY },
});

const NAMES = ['ours', 'ours-again', 'before', 'before-again'] as const;

test('what a change costs is the median of the rounds, each compared with its own processes of before', () => {
  const samples = [110, 220, 330, 480, 550].flatMap((ours, round) => {
    const before = 100 * (round + 1);
    const costs = [ours * 3, ours / 3, before * 2, before / 2];
    return [
      sample('json', round, 'floor', 1),
      ...NAMES.map((name, index) => sample('json', round, name, costs[index] ?? 0)),
    ];
  });
  const figure = changeFigure('json', samples.toReversed());
  expect(figure).toMatchObject({ workload: 'json', rounds: 5 });
  expect([figure.medianRatio, figure.upper95, figure.control.medianRatio].map((value) => value?.toFixed(6))).toEqual([
    ...['1.100000', '1.200000', '6.000000'],
  ]);
  const report =
    /^CPU of a request, ours to before: ratio of 5 rounds 1\.100, upper 95% bound 1\.200\n {2}control, .* 6\.000/;
  expect(changeReport(figure)).toMatch(report);
});

test('of streams an event is what counts, and a round without two of each is none', () => {
  const round = NAMES.map((name) => sample('burst', 0, name, 100));
  const report = changeReport(changeFigure('burst', round));
  expect(report).toMatch(/^CPU of an event, ours to before: ratio of 1 rounds 1\.000/);
  expect(() => changeFigure('burst', round.slice(0, 3))).toThrow('each round has windows of before-again');
});
