import Table from 'cli-table3';
import { median } from '../load/latencies.ts';

/** One window of a paying client beside one kind of body, and just before one alone, and one with the machine busy with them. */
export interface HostileSample {
  readonly body: string;
  readonly aloneP99Us: number;
  /** Beside the same bodies on their way to another process. */
  readonly sinkP99Us: number;
  readonly besideP99Us: number;
  /** The longest turn of the gateway's event loop beside it, by the CPU time of its thread. */
  readonly turnMaxMs: number;
  /** Bodies that were answered meanwhile, by status. */
  readonly statuses: Readonly<Record<string, number>>;
}

export interface HostileFigure {
  readonly body: string;
  /** p99 of the paying client beside it to alone: the median of the windows. */
  readonly p99Ratio: number;
  /** The same where the bodies go to another process: what the machine does to it, whatever the gateway does. */
  readonly sinkRatio: number;
  readonly turnMaxMs: number;
  readonly bodies: number;
}

export const hostileFigures = (samples: readonly HostileSample[]): HostileFigure[] =>
  [...Map.groupBy(samples, ({ body }) => body)].map(([body, ofBody]) => ({
    body,
    p99Ratio: median(ofBody.map(({ aloneP99Us, besideP99Us }) => besideP99Us / aloneP99Us)),
    sinkRatio: median(ofBody.map(({ aloneP99Us, sinkP99Us }) => sinkP99Us / aloneP99Us)),
    turnMaxMs: Math.max(...ofBody.map(({ turnMaxMs }) => turnMaxMs)),
    bodies: ofBody.flatMap(({ statuses }) => Object.values(statuses)).reduce((sum, count) => sum + count, 0),
  }));

export function hostileReport(figures: readonly HostileFigure[]): string {
  const head = [
    'bodies of up to 32 MiB',
    'answered',
    'p99 of the paying client to alone',
    'the same, bodies to another process',
    'longest turn of the loop, ms of CPU',
  ];
  const table = new Table({ head, style: { head: [], border: [], compact: true } });
  for (const { body, bodies, p99Ratio, sinkRatio, turnMaxMs } of figures)
    table.push([body, bodies, `${p99Ratio.toFixed(2)}x`, `${sinkRatio.toFixed(2)}x`, turnMaxMs.toFixed(1)]);
  return `hostile: beside a paying client, by a key without credits\n${table.toString()}\n`;
}
