import { expect, test } from 'vitest';
import { Latencies, median, percentile } from './latencies.ts';

test('percentiles are by nearest rank', () => {
  const hundred = Array.from({ length: 100 }, (_, index) => index + 1);
  expect([0.5, 0.99, 1].map((share) => percentile(hundred, share))).toEqual([50, 99, 100]);
  expect(percentile([7], 0.5)).toBe(7);
  expect(percentile([], 0.5)).toBeNaN();
});

test('a summary sorts by number, and a cleared one is empty', () => {
  const latencies = new Latencies();
  for (const us of [10, 9, 100]) latencies.add(us);
  expect(latencies.summary()).toEqual({ p50Us: 10, p99Us: 100 });
  latencies.clear();
  expect(latencies.summary().p50Us).toBeNaN();
});

test('the median is the middle value, or the mean of the two', () => {
  expect([median([100, 9, 10]), median([4, 1, 2, 3]), median([])]).toEqual([10, 2.5, Number.NaN]);
});
