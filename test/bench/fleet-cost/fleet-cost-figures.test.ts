import { expect, test } from 'vitest';
import { costRatio, type FleetCostSample, fleetCostFigures, fleetCostReport } from './fleet-cost-figures.ts';

const sample = (fleet: FleetCostSample['fleet'], requests: number, proxiesCpuUs: number): FleetCostSample => ({
  ...{ fleet, requests, proxiesCpuUs, storeCpuUs: 100 * requests, othersShare: 0 },
});

const FIGURES = fleetCostFigures([
  sample('eventstoredb, one proxy', 1_000, 500_000),
  sample('eventstoredb, three proxies', 1_000, 900_000),
  sample('eventstoredb, one proxy', 500, 300_000),
  sample('eventstoredb, three proxies', 2_000, 1_200_000),
  sample('eventstoredb, one proxy', 1_000, 9_000_000),
  sample('eventstoredb, three proxies', 1_000, 750_000),
]);

test('a request costs what all proxies of a fleet took, by the median of its windows', () => {
  expect(FIGURES.map(({ fleet, cpuUsPerRequest }) => [fleet, cpuUsPerRequest])).toEqual([
    ['eventstoredb, one proxy', 600],
    ['eventstoredb, three proxies', 750],
  ]);
  expect(costRatio(FIGURES, 'eventstoredb, three proxies', 'eventstoredb, one proxy')).toBe(1.25);
  expect(costRatio(FIGURES, 'eventstoredb, three proxies', 'sqlite, one proxy')).toBeNull();
});

test('the report has a line for each fleet', () => {
  const line = fleetCostReport(FIGURES)
    .split('\n')
    .find((text) => text.includes('three proxies '));
  const cells = line?.split('│').map((cell) => cell.trim());
  expect(cells?.slice(1, -1)).toEqual(['eventstoredb, three proxies', '750', '1.25x', '', '100']);
});
