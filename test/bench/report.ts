import Table from 'cli-table3';
import { type Figure, type Figures, figureFor } from './figures.ts';
import type { Judgement } from './goals.ts';
import { WORKLOADS, type WorkloadName } from './workloads.ts';

interface Column {
  readonly title: string;
  cell(figure: Figure): string;
}

/** What a workload showed: each contender's figures, and ours as a ratio to each of the others. */
export function workloadReport(figures: Figures, workload: WorkloadName): string {
  const columns = columnsOf(figures, workload);
  const table = textTable(columns.map(({ title }) => title));
  const rows = figures.filter((figure) => figure.workload === workload);
  for (const figure of rows) table.push(columns.map(({ cell }) => cell(figure)));
  const notes = rows.map(ledgerNote).filter((note) => note !== '');
  return `${WORKLOADS[workload].title}\n${table.toString()}\n${notes.join('\n')}`;
}

export function goalsReport(judgements: readonly Judgement[]): string {
  const table = textTable(['goal', 'wanted', 'measured', 'verdict']);
  for (const { title, goal, measured, verdict, by } of judgements)
    table.push([title, goal, measured ?? '', by === null ? verdict : `${verdict} by ${by}`]);
  return `Goals\n${table.toString()}\n`;
}

function columnsOf(figures: Figures, workload: WorkloadName): Column[] {
  const { latency, per } = WORKLOADS[workload];
  const direct = figureFor(figures, workload, 'direct');
  const ours = figureFor(figures, workload, 'ours');
  // Long streams end in flocks, so that requests in a window say little: where events count, only they are shown.
  const cpu = (figure: Figure) => (per === 'event' ? figure.cpuUsPerEvent : figure.cpuUsPerRequest);
  const rate = (figure: Figure) => (per === 'event' ? figure.eventsPerS : figure.requestsPerS);
  const toOthers = (title: string, value: (figure: Figure) => number): Column => ({
    title: `ours to it: ${title}`,
    cell: (figure) => (ours === null || figure === ours ? '' : times(value(ours) / value(figure))),
  });
  return [
    { title: 'contender', cell: ({ contender }) => contender },
    { title: `${per}s/s`, cell: (figure) => rate(figure).toFixed(0) },
    { title: `CPU µs/${per}`, cell: (figure) => micros(cpu(figure)) },
    ...(latency === null
      ? []
      : [
          {
            title: `${latency === 'answer' ? 'answer' : 'first byte'} p50, p99 ms`,
            cell: ({ p50Us, p99Us }: Figure) => `${ms(p50Us)}, ${ms(p99Us)}`,
          },
          {
            title: 'added',
            cell: (figure: Figure) =>
              direct === null || figure === direct
                ? ''
                : `${ms(figure.p50Us - direct.p50Us)}, ${ms(figure.p99Us - direct.p99Us)}`,
          },
        ]),
    { title: 'RSS MB', cell: ({ rssBytes }) => (rssBytes === 0 ? '' : (rssBytes / 1_000_000).toFixed(0)) },
    toOthers('CPU', cpu),
    toOthers(`${per}s/s`, rate),
  ];
}

function ledgerNote({ ledgerEventsPerS, loopDelayP50Ms, loopDelayP99Ms }: Figure): string {
  if (Number.isNaN(ledgerEventsPerS)) return '';
  const delay = `event-loop delay p50 ${loopDelayP50Ms.toFixed(2)} ms, p99 ${loopDelayP99Ms.toFixed(2)} ms`;
  return `${ledgerEventsPerS.toFixed(0)} events/s durable; ${delay}\n`;
}

const micros = (us: number): string => (us === 0 || Number.isNaN(us) ? '' : us.toFixed(us < 10 ? 2 : 1));
const ms = (us: number): string => (us / 1000).toFixed(2);
/** Direct has no CPU time to compare with. */
const times = (ratio: number): string => (Number.isFinite(ratio) ? `${ratio.toFixed(2)}x` : '');

const textTable = (head: string[]) => new Table({ head, style: { head: [], border: [], compact: true } });
