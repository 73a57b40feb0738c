import Table from 'cli-table3';
import { median } from '../load/latencies.ts';
import type { CopyFigure } from './copy-figure.ts';
import type { BesideFigure, RebuildFigure } from './rebuild-figure.ts';
import type { WholeRun } from './whole-run.ts';

/** Views from nothing and a bare scan of the same file, one after the other. */
export interface ReplaySample {
  readonly events: number;
  readonly accounts: number;
  readonly scan: WholeRun;
  /** Of a gateway without views, from its start until it is ready. */
  readonly replay: WholeRun & { readonly peakRssBytes: number };
}

export interface ReplayFigure {
  readonly events: number;
  readonly accounts: number;
  readonly scan: WholeRun;
  readonly replay: WholeRun;
  readonly peakRssBytes: number;
  /** Medians of the ratios within each pair. */
  readonly timeRatio: number;
  readonly cpuRatio: number;
}

/** What was started, again and again: a gateway until it is ready, or a command until its end. */
export interface StartSample extends WholeRun {
  readonly what: string;
}

export const START_OF_GATEWAY = 'serve, until ready';
export const HELP = '--help';

/** Resident bytes of ours and the floor, each alone. */
export interface MemoryFigure {
  readonly ours: { readonly idle: number; readonly loaded: number };
  readonly floor: { readonly idle: number; readonly loaded: number };
  /** Of two ledgers of accounts that do nothing: their sizes, and what a gateway on each has resident. */
  readonly accounts: readonly [IdleAccounts, IdleAccounts];
}

export interface IdleAccounts {
  readonly accounts: number;
  readonly rssBytes: number;
}

/** An audit of a whole ledger on all cores, and the bare scan of its file on one before it. */
export interface VerifySample {
  readonly events: number;
  readonly scan: WholeRun;
  readonly verify: WholeRun;
}

/** Medians. */
export interface VerifyFigure {
  readonly events: number;
  readonly scanPerS: number;
  readonly verifyPerS: number;
  /** User and system; of the audit without what its start costs. */
  readonly scanCpuUsPerEvent: number;
  readonly cpuUsPerEvent: number;
  /** Of the rates within each pair, with the start. */
  readonly rateRatio: number;
}

/** @param start of a ledger of hardly any events */
export function verifyFigure(samples: readonly VerifySample[], start: readonly VerifySample[]): VerifyFigure {
  const events = samples[0]?.events ?? 0;
  const over = (value: (sample: VerifySample) => number) => median(samples.map(value));
  const startCpuSeconds = median(start.map(({ verify }) => verify.cpuSeconds));
  return {
    events,
    scanPerS: over(({ scan }) => events / scan.seconds),
    verifyPerS: over(({ verify }) => events / verify.seconds),
    scanCpuUsPerEvent: over(({ scan }) => (scan.cpuSeconds * 1_000_000) / events),
    cpuUsPerEvent: over(({ verify }) => ((verify.cpuSeconds - startCpuSeconds) * 1_000_000) / events),
    rateRatio: over(({ scan, verify }) => scan.seconds / verify.seconds),
  };
}

/** Below this the start, which differs from run to run, is most of it. */
const EVENTS_TO_COMPARE = 100_000;

/** What an event costs of the larger ledger, to one of the smaller; null where that is too small to tell. */
export function verifyCpuRatio([few, many]: readonly VerifyFigure[]): number | null {
  if (few === undefined || many === undefined || few.events < EVENTS_TO_COMPARE) return null;
  return many.cpuUsPerEvent / few.cpuUsPerEvent;
}

export const verifyReport = (figures: readonly VerifyFigure[], what = 'verify'): string =>
  figures
    .map(
      ({ events, scanPerS, verifyPerS, scanCpuUsPerEvent, cpuUsPerEvent, rateRatio }) =>
        `${what} of ${events} events: ${verifyPerS.toFixed(0)}/s, ${rateRatio.toFixed(2)} of the scan's ` +
        `${scanPerS.toFixed(0)}/s; ${cpuUsPerEvent.toFixed(1)} us of CPU an event without the start, ` +
        `${scanCpuUsPerEvent.toFixed(1)} of the scan\n`,
    )
    .join('');

/** An export in one format and the bare scan of the same file before it. */
export interface ExportSample {
  readonly format: string;
  readonly events: number;
  readonly scan: WholeRun;
  readonly run: WholeRun & { readonly peakRssBytes: number };
  /** Of a ledger of as many accounts with a quarter of the events. */
  readonly peakRssBytesOfQuarter: number;
}

export interface ExportFigure {
  readonly format: string;
  readonly events: number;
  readonly perS: number;
  readonly cpuUsPerEvent: number;
  /** Of the rates within each pair. */
  readonly rateRatio: number;
  /** The most of all runs. */
  readonly peakRssBytes: number;
  /** That to the most with a quarter of the events. */
  readonly peakRssRatio: number;
}

/** Medians, by format. */
export const exportFigures = (samples: readonly ExportSample[]): ExportFigure[] =>
  [...Map.groupBy(samples, ({ format }) => format)].map(([format, ofFormat]) => {
    const over = (value: (sample: ExportSample) => number) => median(ofFormat.map(value));
    const peakRssBytes = Math.max(...ofFormat.map(({ run }) => run.peakRssBytes));
    return {
      ...{ peakRssBytes, peakRssRatio: over(({ peakRssBytesOfQuarter }) => peakRssBytes / peakRssBytesOfQuarter) },
      ...{ format, events: ofFormat[0]?.events ?? 0, perS: over(({ events, run }) => events / run.seconds) },
      cpuUsPerEvent: over(({ events, run }) => (run.cpuSeconds * 1_000_000) / events),
      rateRatio: over(({ scan, run }) => scan.seconds / run.seconds),
    };
  });

export const exportReport = (figures: readonly ExportFigure[]): string =>
  figures
    .map(
      ({ format, events, perS, cpuUsPerEvent, rateRatio, peakRssBytes, peakRssRatio }) =>
        `export of ${events} events, ${format}: ${perS.toFixed(0)}/s, ${rateRatio.toFixed(2)} of the scan's, ` +
        `${cpuUsPerEvent.toFixed(1)} us of CPU an event, ${megabytes(peakRssBytes)} MB resident at most, ` +
        `${peakRssRatio.toFixed(2)} of that with a quarter of the events\n`,
    )
    .join('');

/** What some accounts of a ledger were at an instant, one after the other. */
export interface AtSample {
  readonly round: number;
  /** Of the whole ledger, and of those accounts. */
  readonly events: number;
  readonly eventsRead: number;
  readonly accounts: number;
  readonly ms: number;
}

export interface AtFigure {
  /** Medians, by the number of the ledger's events, ascending. */
  readonly ledgers: readonly { readonly events: number; readonly msPerAccount: number; readonly usPerEvent: number }[];
  /** Of the time of an event of an account in the larger ledger, to that in the smaller: the median within the rounds. */
  readonly ratio: number;
}

/** Null where nothing was measured. */
export function atFigure(samples: readonly AtSample[]): AtFigure | null {
  if (samples.length === 0) return null;
  const usPerEvent = ({ ms, eventsRead }: AtSample): number => (ms * 1_000) / eventsRead;
  const ledgers = [...Map.groupBy(samples, ({ events }) => events)].map(([events, ofLedger]) => ({
    ...{ events, usPerEvent: median(ofLedger.map(usPerEvent)) },
    msPerAccount: median(ofLedger.map(({ ms, accounts }) => ms / accounts)),
  }));
  const ratios = [...Map.groupBy(samples, ({ round }) => round).values()].map((ofRound) => {
    const [few, many] = ofRound.toSorted((one, other) => one.events - other.events).map(usPerEvent);
    return (many ?? Number.NaN) / (few ?? Number.NaN);
  });
  return { ledgers: ledgers.toSorted((one, other) => one.events - other.events), ratio: median(ratios) };
}

export const atReport = ({ ledgers, ratio }: AtFigure): string =>
  [
    ...ledgers.map(
      ({ events, msPerAccount, usPerEvent }) =>
        `an account at an instant, of a ledger of ${events} events: ${msPerAccount.toFixed(2)} ms, ${usPerEvent.toFixed(1)} us an event of its own`,
    ),
    `an event of its own, in the larger ledger to the smaller: ${ratio.toFixed(2)}x\n`,
  ].join('\n');

/** What is null or empty was not measured. */
export interface WeightFigures {
  /** By the number of events, ascending. */
  readonly replays: readonly ReplayFigure[];
  readonly starts: readonly StartSample[];
  /** By log. */
  readonly rebuilds: readonly RebuildFigure[];
  readonly besideRebuild: BesideFigure | null;
  readonly copy: CopyFigure | null;
  /** By the number of events, ascending. */
  readonly verifies: readonly VerifyFigure[];
  /** The same of `verify --seals`. */
  readonly seals: readonly VerifyFigure[];
  /** By format. */
  readonly exports: readonly ExportFigure[];
  readonly at: AtFigure | null;
  readonly memory: MemoryFigure | null;
  readonly diskBytesPerRequest: number | null;
}

export const NOTHING_WEIGHED: WeightFigures = {
  replays: [],
  starts: [],
  rebuilds: [],
  besideRebuild: null,
  copy: null,
  verifies: [],
  seals: [],
  exports: [],
  at: null,
  memory: null,
  diskBytesPerRequest: null,
};

export const replayFigures = (samples: readonly ReplaySample[]): ReplayFigure[] =>
  [...Map.groupBy(samples, ({ events }) => events)]
    .map(([events, ofSize]) => {
      const over = (value: (sample: ReplaySample) => number) => median(ofSize.map(value));
      const runs = (of: 'scan' | 'replay'): WholeRun => ({
        seconds: over((sample) => sample[of].seconds),
        cpuSeconds: over((sample) => sample[of].cpuSeconds),
      });
      return {
        events,
        accounts: ofSize[0]?.accounts ?? 0,
        scan: runs('scan'),
        replay: runs('replay'),
        peakRssBytes: Math.max(...ofSize.map(({ replay }) => replay.peakRssBytes)),
        timeRatio: over(({ scan, replay }) => replay.seconds / scan.seconds),
        cpuRatio: over(({ scan, replay }) => replay.cpuSeconds / scan.cpuSeconds),
      };
    })
    .toSorted((a, b) => a.events - b.events);

/** What an event takes of the largest ledger, to one of the smallest; null where there are not two. */
export function perEventRatio(replays: readonly ReplayFigure[]): number | null {
  const [smallest, largest] = [replays[0], replays.at(-1)];
  if (smallest === undefined || largest === undefined || smallest === largest) return null;
  return largest.replay.cpuSeconds / largest.events / (smallest.replay.cpuSeconds / smallest.events);
}

/** The median of each. */
export const startFigures = (samples: readonly StartSample[]): StartSample[] =>
  [...Map.groupBy(samples, ({ what }) => what)].map(([what, ofWhat]) => ({
    what,
    seconds: median(ofWhat.map(({ seconds }) => seconds)),
    cpuSeconds: median(ofWhat.map(({ cpuSeconds }) => cpuSeconds)),
  }));

export function bytesPerAccount({ accounts: [few, many] }: MemoryFigure): number {
  return (many.rssBytes - few.rssBytes) / (many.accounts - few.accounts);
}

export function replayReport(replays: readonly ReplayFigure[]): string {
  const table = textTable([
    'events',
    'accounts',
    'bare scan s (CPU)',
    'views s (CPU)',
    'to the scan (CPU)',
    'peak RSS MB',
  ]);
  for (const { events, accounts, scan, replay, timeRatio, cpuRatio, peakRssBytes } of replays)
    table.push([
      events,
      accounts,
      both(scan),
      both(replay),
      `${timeRatio.toFixed(2)}x (${cpuRatio.toFixed(2)}x)`,
      megabytes(peakRssBytes),
    ]);
  return `replay: views from nothing, and a bare scan of the same ledger\n${table.toString()}\n`;
}

export function startReport(starts: readonly StartSample[], events: number): string {
  const table = textTable(['gateway …', 's (CPU)']);
  for (const run of starts) table.push([run.what, both(run)]);
  return `start: on a ledger of ${events} events, views up to date\n${table.toString()}\n`;
}

export function memoryReport(memory: MemoryFigure): string {
  const table = textTable(['resident MB', 'idle', '64 connections']);
  for (const name of ['ours', 'floor'] as const)
    table.push([name, megabytes(memory[name].idle), megabytes(memory[name].loaded)]);
  const [few, many] = memory.accounts.map(({ accounts, rssBytes }) => `${megabytes(rssBytes)} MB with ${accounts}`);
  const note = `accounts that do nothing: ${few}, ${many}: ${bytesPerAccount(memory).toFixed(0)} bytes each`;
  return `memory\n${table.toString()}\n${note}\n`;
}

const textTable = (head: string[]) => new Table({ head, style: { head: [], border: [], compact: true } });
const both = ({ seconds, cpuSeconds }: WholeRun): string => `${seconds.toFixed(2)} (${cpuSeconds.toFixed(2)})`;
const megabytes = (bytes: number): string => (bytes / 1_000_000).toFixed(0);
