import Table from 'cli-table3';
import { median } from '../load/latencies.ts';

/**
 * The same requests/s by one proxy on SQLite, by one on an event store, and by three on an event store, each of which serves every
 * account; and by one that has as many as each of the three: with fewer requests a process is woken more often for each.
 */
export const FLEETS = {
  'sqlite, one proxy': { log: 'sqlite', proxies: 1, shareOfRequests: 1 },
  'eventstoredb, one proxy': { log: 'eventstoredb', proxies: 1, shareOfRequests: 1 },
  'eventstoredb, one proxy, a third of the requests': { log: 'eventstoredb', proxies: 1, shareOfRequests: 1 / 3 },
  'eventstoredb, three proxies': { log: 'eventstoredb', proxies: 3, shareOfRequests: 1 },
} as const;
export type FleetName = keyof typeof FLEETS;

/** One window of one fleet. */
export interface FleetCostSample {
  readonly fleet: FleetName;
  readonly requests: number;
  /** CPU time of all of its proxies within the window, and of the event store's process; 0 where that is not seen. */
  readonly proxiesCpuUs: number;
  readonly storeCpuUs: number;
  /** Cores that everything else on the machine took, beside load and upstream. */
  readonly othersShare: number;
}

/** Medians over the windows. */
export interface FleetCostFigure {
  readonly fleet: FleetName;
  readonly cpuUsPerRequest: number;
  readonly storeCpuUsPerRequest: number;
}

export const fleetCostFigures = (samples: readonly FleetCostSample[]): FleetCostFigure[] =>
  [...Map.groupBy(samples, ({ fleet }) => fleet)].map(([fleet, ofFleet]) => ({
    fleet,
    cpuUsPerRequest: median(ofFleet.map(({ proxiesCpuUs, requests }) => proxiesCpuUs / requests)),
    storeCpuUsPerRequest: median(ofFleet.map(({ storeCpuUs, requests }) => storeCpuUs / requests)),
  }));

/** What a request costs a fleet, to what it costs another; null where one of them was not measured. */
export function costRatio(figures: readonly FleetCostFigure[], over: FleetName, under: FleetName): number | null {
  const of = (name: FleetName) => figures.find(({ fleet }) => fleet === name)?.cpuUsPerRequest;
  const [above, below] = [of(over), of(under)];
  return above === undefined || below === undefined ? null : above / below;
}

export function fleetCostReport(figures: readonly FleetCostFigure[]): string {
  const head = ['fleet', 'CPU µs/request, all proxies', 'to one proxy', 'to SQLite', 'the store’s/request'];
  const table = new Table({ head, style: { head: [], border: [], compact: true } });
  for (const { fleet, cpuUsPerRequest, storeCpuUsPerRequest } of figures)
    table.push([
      fleet,
      cpuUsPerRequest.toFixed(0),
      ratioText(costRatio(figures, fleet, 'eventstoredb, one proxy')),
      ratioText(costRatio(figures, fleet, 'sqlite, one proxy')),
      storeCpuUsPerRequest === 0 ? '' : storeCpuUsPerRequest.toFixed(0),
    ]);
  return `fleet-cost: the same requests/s through one proxy and through three, JSON answers of 600 bytes\n${table.toString()}\n`;
}

const ratioText = (ratio: number | null): string => (ratio === null ? '' : `${ratio.toFixed(2)}x`);
