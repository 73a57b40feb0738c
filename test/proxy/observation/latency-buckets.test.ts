import { expect, it } from 'vitest';
import { LatencyBuckets } from '../../../proxy/observation/latency-buckets.ts';

it('what took as long as a bound is within it, as Prometheus has it, and what took longer than all is beyond', () => {
  const buckets = new LatencyBuckets([0.5, 1]);
  for (const seconds of [0.25, 0.5, 0.75, 1, 2]) buckets.add(seconds);
  expect([[...buckets.counts], buckets.sum]).toEqual([[2, 2, 1], 4.5]);
});
