import { expect, test } from 'vitest';
import { judge } from '../goals.ts';
import { copyFigure, copyReport } from './copy-figure.ts';
import { besideFigure, besideReport, type RebuildSample, rebuildFigures, rebuildReport } from './rebuild-figure.ts';
import {
  type AtSample,
  atFigure,
  atReport,
  bytesPerAccount,
  exportFigures,
  exportReport,
  type MemoryFigure,
  memoryReport,
  perEventRatio,
  type ReplaySample,
  replayFigures,
  replayReport,
  START_OF_GATEWAY,
  startFigures,
  startReport,
  verifyCpuRatio,
  verifyFigure,
  verifyReport,
} from './weight-figures.ts';
import type { WholeRun } from './whole-run.ts';

const sample = (events: number, scanSeconds: number, seconds: number, peakRssBytes = 1): ReplaySample => ({
  ...{ events, accounts: events / 50 },
  scan: { seconds: scanSeconds, cpuSeconds: scanSeconds },
  replay: { seconds, cpuSeconds: seconds / 2, peakRssBytes },
});

// The machine is ten times slower in the second round: within it both are.
const REPLAYS = replayFigures([
  sample(1_000, 1, 3, 400_000_000),
  sample(100, 0.1, 0.25),
  sample(1_000, 10, 15, 700_000_000),
  sample(100, 1, 3),
  sample(1_000, 1, 2.5),
]);

const MEMORY: MemoryFigure = {
  ours: { idle: 130_000_000, loaded: 240_000_000 },
  floor: { idle: 90_000_000, loaded: 200_000_000 },
  accounts: [
    { accounts: 1_000, rssBytes: 100_000_000 },
    { accounts: 4_000, rssBytes: 106_000_000 },
  ],
};

const atSample = (round: number, events: number, eventsRead: number, ms: number): AtSample => ({
  ...{ round, events, eventsRead, ms, accounts: 10 },
});
// The machine is ten times slower in the second round; accounts of the larger ledger have twice the events.
const AT_AN_INSTANT = [
  ...[atSample(0, 1_000, 200, 2.5), atSample(0, 100, 100, 1)],
  ...[atSample(1, 1_000, 200, 25), atSample(1, 100, 100, 10)],
  ...[atSample(2, 1_000, 200, 2), atSample(2, 100, 100, 1)],
];

const cells = (report: string, start: string) =>
  report
    .split('\n')
    .map((line) => line.split('│').map((cell) => cell.trim()))
    .find(([, first]) => first === start)
    ?.slice(2, -1);

test('views are compared with the scan of their own pair, by the median, and by the most that was resident', () => {
  expect(REPLAYS.map(({ events, timeRatio, cpuRatio }) => [events, timeRatio, cpuRatio])).toEqual([
    [100, 2.75, 1.375],
    [1_000, 2.5, 1.25],
  ]);
  expect(REPLAYS[1]?.peakRssBytes).toBe(700_000_000);
  expect(cells(replayReport(REPLAYS), '1000')).toEqual(['20', '1.00 (1.00)', '3.00 (1.50)', '2.50x (1.25x)', '700']);
});

test('what an event takes of the largest ledger is told to the smallest', () => {
  expect(perEventRatio(REPLAYS)).toBeCloseTo(1.5 / 1_000 / (0.8125 / 100), 10);
  expect(perEventRatio(REPLAYS.slice(1))).toBeNull();
});

test('an account that does nothing is weighed by the difference of two ledgers', () => {
  expect(bytesPerAccount(MEMORY)).toBe(2_000);
  const report = memoryReport(MEMORY);
  expect([cells(report, 'ours'), cells(report, 'floor')]).toEqual([
    ['130', '240'],
    ['90', '200'],
  ]);
  expect(report).toContain('2000 bytes each');
});

test('an account at an instant is told by its own events, in the larger ledger to the smaller, by the median', () => {
  const figure = atFigure(AT_AN_INSTANT);
  expect(figure).toEqual({
    ledgers: [
      { events: 100, usPerEvent: 10, msPerAccount: 0.1 },
      { events: 1_000, usPerEvent: 12.5, msPerAccount: 0.25 },
    ],
    ratio: 1.25,
  });
  expect(figure && atReport(figure)).toContain('of 1000 events: 0.25 ms, 12.5 us an event of its own');
  expect(atFigure([])).toBeNull();
});

test('each goal is judged by its own figure, commands by the slowest', () => {
  const run = (what: string, seconds: number) => ({ what, seconds, cpuSeconds: seconds });
  const starts = startFigures([
    run(START_OF_GATEWAY, 1.4),
    run(START_OF_GATEWAY, 9),
    run(START_OF_GATEWAY, 1.5),
    run('--help', 0.3),
    run('account list', 0.9),
    run('account show', 0.5),
  ]);
  expect(cells(startReport(starts, 1_000), START_OF_GATEWAY)).toEqual(['1.50 (1.50)']);
  const figure = {
    events: 100_000,
    scanPerS: 200,
    verifyPerS: 50,
    scanCpuUsPerEvent: 5,
    cpuUsPerEvent: 10,
    rateRatio: 0.5,
  };
  const verifies = [figure, { ...figure, events: 1_000_000, cpuUsPerEvent: 13, rateRatio: 0.25 }];
  expect(verifyReport(verifies)).toContain('verify of 1000000 events: 50/s, 0.25 of the scan');
  const seals = [figure, { ...figure, events: 1_000_000, cpuUsPerEvent: 11, rateRatio: 0.6 }];
  expect(verifyReport(seals, 'verify --seals')).toContain('verify --seals of 1000000 events: 50/s, 0.60 of the scan');
  expect(verifyReport(verifies)).toContain('13.0 us of CPU an event without the start, 5.0 of the scan');
  // Twice as slow in the second round, both.
  const exported = (format: string, scanSeconds: number, seconds: number) => {
    const [scan, run] = [scanSeconds, seconds].map((s) => ({ seconds: s, cpuSeconds: s })) as [WholeRun, WholeRun];
    const peaks = { run: { ...run, peakRssBytes: seconds * 30_000_000 }, peakRssBytesOfQuarter: 200_000_000 };
    return { format, events: 100, scan, ...peaks };
  };
  const exports = exportFigures([
    ...[exported('csv', 1, 2), exported('focus', 1, 5)],
    ...[exported('csv', 2, 4), exported('focus', 2, 10)],
  ]);
  expect(exportReport(exports)).toContain('export of 100 events, csv: 38/s, 0.50 of the scan');
  expect(exportReport(exports)).toContain('300 MB resident at most, 1.50 of that with a quarter of the events');
  const at = atFigure(AT_AN_INSTANT);
  const rebuilt = (log: RebuildSample['log'], seconds: number, peakRssBytes: number): RebuildSample => {
    const bare = { seconds: 2, cpuSeconds: 2 };
    return { log, bare, rebuild: { seconds, cpuSeconds: 5, peakRssBytes } };
  };
  const rebuilds = rebuildFigures([
    ...[rebuilt('sqlite', 3, 1), rebuilt('sqlite', 6, 500_000_000), rebuilt('sqlite', 5, 2)],
    rebuilt('eventstoredb', 4, 1),
  ]);
  expect(rebuildReport(rebuilds)).toContain(
    'rebuild of all views from eventstoredb: 4.00 s, bare readAll 2.00 s: 2.00x (CPU 2.50x); at most 0 MB resident',
  );
  // Each to alone in its own round: the second was slow in all.
  const besideRebuild = besideFigure([
    { aloneP99Us: 2_000, otherP99Us: 3_000, besideP99Us: 5_000 },
    { aloneP99Us: 20_000, otherP99Us: 24_000, besideP99Us: 30_000 },
    { aloneP99Us: 1_000, otherP99Us: 1_600, besideP99Us: 1_900 },
  ]);
  expect(besideReport(besideRebuild)).toBe(
    'p99 of a paying client: 2.0 ms, beside a rebuild and its switch 1.90x; beside a rebuild of another folder 1.50x\n',
  );
  const copied = (seconds: number) => ({ events: 100, seconds, peakRssBytes: 1 });
  const copy = copyFigure([
    { appends: copied(1), copy: copied(5) },
    { appends: copied(10), copy: copied(20) },
    { appends: copied(2), copy: copied(8) },
  ]);
  if (copy === null) throw new Error('three samples have a figure');
  expect(copyReport(copy)).toContain('copy of 100 events to an event store: 13/s, 0.25 of the 50/s that it takes');
  const weight = {
    replays: REPLAYS,
    starts,
    rebuilds,
    besideRebuild,
    copy,
    verifies,
    seals,
    exports,
    at,
    memory: MEMORY,
    diskBytesPerRequest: 1_649,
  };
  const judged = judge([], { weight }).slice(-23, -1);
  expect(judged.map(({ title, measured, verdict }) => `${title}: ${measured}, ${verdict}`)).toEqual([
    'views from nothing: time to that of a bare scan: 2.5x, fell short',
    'views from nothing: most that is resident: 700 MB, fell short',
    'views from nothing: CPU of an event, to that with a tenth of the events: 0.185x, reached',
    'rebuild of all views: time to that of a bare scan: 2.5x, fell short',
    'rebuild of all views: most that is resident: 500 MB, reached',
    "rebuild of all views, eventstoredb: time to that of the adapter's bare readAll: 2x, reached",
    'rebuild of all views and its switch: p99 of a paying client beside it, to alone: 1.9x, reached',
    'copy from log to log: events/s, to what the target takes: 0.25x, reached',
    "verify: events/s, to the bare scan's: 0.25x, fell short",
    'verify: CPU of an event without the start, to that with a tenth of the events: 1.3x, fell short',
    "verify --seals: events/s, to the bare scan's: 0.6x, reached",
    'verify --seals: CPU of an event without the start, to that with a tenth of the events: 1.1x, reached',
    "export, slowest format: events/s, to the bare scan's: 0.2x, fell short",
    'export: most that is resident, to that with a quarter of the events: 1.5x, fell short',
    'one account at an instant: time of its event, to that with a tenth of the events: 1.25x, fell short',
    'start with views up to date: 1.5 s, reached',
    'gateway --help: 0.3 s, reached',
    'slowest command: 0.9 s, fell short',
    'resident memory, idle: 130 MB, reached',
    'resident memory at 64 connections, ours to the floor: 1.2x, reached',
    'memory of an account that does nothing: 2000 bytes, fell short',
    'disk of a billed request: 1649 bytes, fell short',
  ]);
});

test('what a start costs is no cost of an event', () => {
  const run = (seconds: number, cpuSeconds: number) => ({ seconds, cpuSeconds });
  const start = [{ events: 100, scan: run(0.1, 0.1), verify: run(0.5, 1) }];
  const samples = [
    { events: 1_000_000, scan: run(4, 4), verify: run(8, 11) },
    { events: 1_000_000, scan: run(4, 4), verify: run(5, 13) },
    { events: 1_000_000, scan: run(4, 4), verify: run(6, 12) },
  ];
  expect(verifyFigure(samples, start)).toMatchObject({
    ...{ events: 1_000_000, scanPerS: 250_000, scanCpuUsPerEvent: 4, cpuUsPerEvent: 11, rateRatio: 4 / 6 },
  });
  const many = verifyFigure(samples, start);
  expect(verifyCpuRatio([{ ...many, events: 100_000, cpuUsPerEvent: 10 }, many])).toBeCloseTo(1.1);
  expect(verifyCpuRatio([{ ...many, events: 10_000, cpuUsPerEvent: -3 }, many])).toBeNull();
});
