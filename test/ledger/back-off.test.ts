import { expect, it } from 'vitest';
import { BackOff, backOffMs } from '../../ledger/back-off.ts';

const BOUNDS = { firstMs: 100, maxMs: 1_000 };

it('a back-off doubles from its first wait to its bound, for ever', () => {
  const longestMs = [1, 2, 3, 4, 5, 6, 10_000].map((failures) => backOffMs(BOUNDS, failures, 1));
  expect(longestMs).toEqual([100, 200, 400, 800, 1_000, 1_000, 1_000]);
});

it('half of a wait is left to chance', () => {
  expect([0, 0.5, 0.75].map((random) => backOffMs(BOUNDS, 3, random))).toEqual([200, 300, 350]);
});

it('who waits goes on at once when it is told to stop, and counts its tries until it has succeeded', async () => {
  const backOff = new BackOff({ firstMs: 3_600_000, maxMs: 3_600_000 });
  const stop = new AbortController();
  const waited = backOff.wait(stop.signal);
  stop.abort();
  await waited;
  await backOff.wait(stop.signal);
  expect(backOff.tries).toBe(2);
  backOff.reset();
  expect(backOff.tries).toBe(0);
});
