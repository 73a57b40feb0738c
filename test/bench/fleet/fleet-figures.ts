import Table from 'cli-table3';

/** What others do in the log, and a proxy has to act on. */
export const FLEET_NEWS = ['a limit is set', 'the account is suspended', 'its name is claimed by a copy'] as const;
export type FleetNews = (typeof FLEET_NEWS)[number];

/** From when the log had the news to the first request that one proxy refused for it. */
export interface FleetSample {
  readonly news: FleetNews;
  readonly ms: number;
}

export interface FleetFigure {
  readonly news: FleetNews;
  readonly samples: number;
  /** The slowest: the promise is made for each proxy, each time. */
  readonly worstMs: number;
}

export const fleetFigures = (samples: readonly FleetSample[]): FleetFigure[] =>
  [...Map.groupBy(samples, ({ news }) => news)].map(([news, ofNews]) => {
    return { news, samples: ofNews.length, worstMs: Math.max(...ofNews.map(({ ms }) => ms)) };
  });

export function fleetReport(figures: readonly FleetFigure[]): string {
  const head = ['what is in the log', 'times a proxy', 'refused for it after, at most, ms'];
  const table = new Table({ head, style: { head: [], border: [], compact: true } });
  for (const { news, samples, worstMs } of figures) table.push([news, samples, worstMs.toFixed(0)]);
  return `fleet: three proxies on one event store\n${table.toString()}\n`;
}
