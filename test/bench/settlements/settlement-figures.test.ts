import { expect, test } from 'vitest';
import {
  type SettlementSample,
  settlementFigureFor,
  settlementFigures,
  settlementReport,
} from './settlement-figures.ts';

function sample(log: SettlementSample['log'], round: number, settled: number, appends: number): SettlementSample {
  const window = { seconds: 2, settled, appends, p50Us: 1_000, p99Us: 3_000 };
  return { log, spread: '1,000 accounts', round, window, settlerCpuUs: 60_000, storeCpuUs: 0, othersShare: 0 };
}

test('a figure is the median over the rounds of one log', () => {
  const figures = settlementFigures([
    sample('sqlite', 0, 10_000, 5_000),
    sample('eventstoredb', 0, 400, 200),
    sample('sqlite', 1, 12_000, 3_000),
    sample('sqlite', 2, 2_000, 500),
  ]);
  expect(figures).toHaveLength(2);
  expect(settlementFigureFor(figures, 'sqlite', '1,000 accounts')).toMatchObject({
    settledPerS: 5_000,
    requestsPerAppend: 4,
    settlerCpuUsPerRequest: 6,
    settlerCpuUsPerAppend: 20,
  });
  expect(settlementFigureFor(figures, 'eventstoredb', '1,000 accounts')?.settledPerS).toBe(200);
  expect(settlementFigureFor(figures, 'sqlite', 'one hot account')).toBeNull();
});

test('the report has a line for each log', () => {
  const report = settlementReport(settlementFigures([sample('sqlite', 0, 10_000, 5_000)]));
  expect(
    report
      .split('\n')
      .find((line) => line.includes('sqlite'))
      ?.split('│')
      .map((cell) => cell.trim())
      .slice(1, -1),
  ).toEqual(['1,000 accounts', 'sqlite', '5000', '2.0', '1.0, 3.0', '6', '12', '']);
});
