import { expect, test } from 'vitest';
import type { Sample } from '../measure.ts';
import type { WorkloadName } from '../workloads.ts';
import { changeFigure, changeReport } from './change-figure.ts';

const LATENCY = { p50Us: 0, p99Us: 0 };
const sample = (workload: WorkloadName, round: number, contender: Sample['contender'], cpuUs: number): Sample => ({
  ...{ workload, contender, round, cpuUs, rssBytes: 0, loadShare: 0, upstreamShare: 0, othersShare: 0, ledger: null },
  window: { seconds: 1, requests: 10, events: 100, answer: LATENCY, firstByte: LATENCY, delay: LATENCY },
});

test('what a change costs is the median of the rounds, each compared with its own processes of before', () => {
  const samples = [110, 220, 330, 480, 550].flatMap((ours, round) => {
    const before = 100 * (round + 1);
    return [
      ...[sample('json', round, 'ours', ours), sample('json', round, 'floor', 1)],
      ...[sample('json', round, 'before', before * 2), sample('json', round, 'control', before / 2)],
    ];
  });
  const figure = changeFigure('json', samples.toReversed());
  expect(figure).toMatchObject({ workload: 'json', rounds: 5, control: { rounds: 5, medianRatio: 0.25 } });
  expect(figure.medianRatio).toBeCloseTo(1.1);
  expect(figure.upper95).toBeCloseTo(1.2);
  expect(changeReport(figure)).toMatch(
    /^CPU of a request, ours to before: ratio of 5 rounds 1\.100, upper 95% bound 1\.200/,
  );
});

test('of streams an event is what counts, and a round without a control is none', () => {
  const round = (['ours', 'before', 'control'] as const).map((name) => sample('burst', 0, name, 100));
  expect(changeReport(changeFigure('burst', round))).toMatch(
    /^CPU of an event, ours to before: ratio of 1 rounds 1\.000/,
  );
  expect(() => changeFigure('burst', round.slice(0, 2))).toThrow('each round has windows of control');
});
