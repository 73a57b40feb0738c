import { expect, test } from 'vitest';
import { sealingFigure, sealingReport } from './sealing-figure.ts';
import type { SettlementSample } from './settlement-figures.ts';

const sample = (log: SettlementSample['log'], round: number, settled: number): SettlementSample => ({
  ...{ log, spread: '1,000 accounts', round, settlerCpuUs: 0, storeCpuUs: 0, othersShare: 0 },
  window: { seconds: 2, settled, appends: 1, p50Us: 0, p99Us: 0 },
});

test('what sealing takes is the median of the rounds, each compared with itself', () => {
  const samples = [sample('sqlite', 1, 300), sample('sqlite-sealed', 1, 200)];
  samples.push(sample('sqlite-sealed', 0, 100), sample('sqlite', 0, 110), sample('sqlite', 2, 90));
  samples.push(sample('sqlite-sealed', 2, 90));
  const figure = sealingFigure(samples);
  expect(figure).toMatchObject({ rounds: 3, plainPerS: 55, sealedPerS: 50, upper95: null });
  expect(figure.medianRatio).toBeCloseTo(1.1);
  expect(sealingReport(figure)).toContain('ratio of 3 rounds 1.100, upper 95% bound unknown');
  expect(() => sealingFigure(samples.slice(1))).toThrow('one window of each');
});
