import { expect, test } from 'vitest';
import { addedP50Us, figureOf } from './figures.ts';
import type { Sample } from './measure.ts';

function sample(round: number, values: { requests: number; events?: number; cpuUs: number; p50Us?: number }): Sample {
  const { requests, events = 0, cpuUs, p50Us = 100 } = values;
  return {
    workload: 'burst',
    contender: 'ours',
    round,
    window: {
      seconds: 2,
      requests,
      events,
      answer: { p50Us: 999, p99Us: 999 },
      firstByte: { p50Us, p99Us: 200 },
      delay: { p50Us: Number.NaN, p99Us: Number.NaN },
    },
    cpuUs,
    rssBytes: 100,
    loadShare: 0.1,
    upstreamShare: 0.1,
    othersShare: 0,
    ledger: null,
  };
}

test('a figure is the median over the rounds', () => {
  const rounds = [
    sample(0, { requests: 100, events: 10_000, cpuUs: 20_000 }),
    sample(1, { requests: 200, events: 20_000, cpuUs: 60_000 }),
    sample(2, { requests: 10, events: 1_000, cpuUs: 90_000 }),
  ];
  expect(figureOf(rounds)).toMatchObject({
    requestsPerS: 50,
    eventsPerS: 5_000,
    cpuUsPerRequest: 300,
    cpuUsPerEvent: 3,
    p50Us: 100,
    p99Us: 200,
    ledgerEventsPerS: Number.NaN,
  });
});

test('samples of two contenders make no figure', () => {
  const one = sample(0, { requests: 1, cpuUs: 1 });
  expect(() => figureOf([one, { ...one, contender: 'nginx' }])).toThrow('mixed');
});

test('added latency needs direct beside it', () => {
  const ours = figureOf([sample(0, { requests: 1, cpuUs: 1, p50Us: 500 })]);
  const direct = figureOf([{ ...sample(0, { requests: 1, cpuUs: 0, p50Us: 100 }), contender: 'direct' }]);
  expect(addedP50Us([ours, direct], 'burst', 'ours')).toBe(400);
  expect(addedP50Us([ours], 'burst', 'ours')).toBeNull();
});
