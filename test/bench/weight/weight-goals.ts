import { type Goal, worst } from '../goal.ts';
import type { RebuildFigure } from './rebuild-figure.ts';
import {
  bytesPerAccount,
  HELP,
  perEventRatio,
  START_OF_GATEWAY,
  type VerifyFigure,
  verifyCpuRatio,
  type WeightFigures,
} from './weight-figures.ts';

/** What it weighs: views from nothing, starts, memory, the ledger's file. */
export const WEIGHT_GOALS: readonly Goal<WeightFigures>[] = [
  {
    title: 'views from nothing: time to that of a bare scan',
    bound: 'most',
    limit: 2,
    unit: 'x',
    value: ({ replays }) => replays.at(-1)?.timeRatio ?? null,
  },
  {
    title: 'views from nothing: most that is resident',
    bound: 'most',
    limit: 600,
    unit: ' MB',
    value: ({ replays }) => megabytes(replays.at(-1)?.peakRssBytes),
  },
  {
    title: 'views from nothing: CPU of an event, to that with a tenth of the events',
    bound: 'most',
    limit: 1.1,
    unit: 'x',
    value: ({ replays }) => perEventRatio(replays),
  },
  {
    title: 'rebuild of all views: time to that of a bare scan',
    bound: 'most',
    limit: 2,
    unit: 'x',
    value: (figures) => rebuiltFrom('sqlite', figures)?.timeRatio ?? null,
  },
  {
    title: 'rebuild of all views: most that is resident',
    bound: 'most',
    limit: 600,
    unit: ' MB',
    value: (figures) => megabytes(rebuiltFrom('sqlite', figures)?.peakRssBytes),
  },
  {
    title: "rebuild of all views, eventstoredb: time to that of the adapter's bare readAll",
    bound: 'most',
    limit: 2,
    unit: 'x',
    value: (figures) => rebuiltFrom('eventstoredb', figures)?.timeRatio ?? null,
  },
  {
    title: 'rebuild of all views and its switch: p99 of a paying client beside it, to alone',
    bound: 'most',
    limit: 2,
    unit: 'x',
    value: ({ besideRebuild }) => besideRebuild?.p99Ratio ?? null,
  },
  {
    title: 'copy from log to log: events/s, to what the target takes',
    bound: 'least',
    limit: 1 / 4,
    unit: 'x',
    value: ({ copy }) => copy?.rateRatio ?? null,
  },
  verifiedRate('verify', 1 / 3, ({ verifies }) => verifies),
  verifiedCost('verify', ({ verifies }) => verifies),
  verifiedRate('verify --seals', 1 / 2, ({ seals }) => seals),
  verifiedCost('verify --seals', ({ seals }) => seals),
  {
    title: "export, slowest format: events/s, to the bare scan's",
    bound: 'least',
    limit: 1 / 4,
    unit: 'x',
    value: ({ exports }) => (exports.length === 0 ? null : Math.min(...exports.map(({ rateRatio }) => rateRatio))),
  },
  {
    title: 'export: most that is resident, to that with a quarter of the events',
    bound: 'most',
    limit: 1.25,
    unit: 'x',
    value: ({ exports }) =>
      exports.length === 0 ? null : Math.max(...exports.map(({ peakRssRatio }) => peakRssRatio)),
  },
  {
    title: 'one account at an instant: time of its event, to that with a tenth of the events',
    bound: 'most',
    limit: 1.2,
    unit: 'x',
    value: ({ at }) => at?.ratio ?? null,
  },
  started('start with views up to date', 1.5, (what) => what === START_OF_GATEWAY),
  started('gateway --help', 0.35, (what) => what === HELP),
  started('slowest command', 0.6, (what) => what !== START_OF_GATEWAY && what !== HELP),
  {
    title: 'resident memory, idle',
    bound: 'most',
    limit: 130,
    unit: ' MB',
    value: ({ memory }) => megabytes(memory?.ours.idle),
  },
  {
    title: 'resident memory at 64 connections, ours to the floor',
    bound: 'most',
    limit: 1.2,
    unit: 'x',
    value: ({ memory }) => (memory === null ? null : memory.ours.loaded / memory.floor.loaded),
  },
  {
    title: 'memory of an account that does nothing',
    bound: 'most',
    limit: 1_024,
    unit: ' bytes',
    value: ({ memory }) => (memory === null ? null : bytesPerAccount(memory)),
  },
  {
    title: 'disk of a billed request',
    bound: 'most',
    limit: 1_400,
    unit: ' bytes',
    value: ({ diskBytesPerRequest }) => diskBytesPerRequest,
  },
];

const rebuiltFrom = (log: RebuildFigure['log'], { rebuilds }: WeightFigures): RebuildFigure | undefined =>
  rebuilds.find((figure) => figure.log === log);

type VerifiesOf = (figures: WeightFigures) => readonly VerifyFigure[];

function verifiedRate(what: string, limit: number, of: VerifiesOf): Goal<WeightFigures> {
  const title = `${what}: events/s, to the bare scan's`;
  return { title, bound: 'least', limit, unit: 'x', value: (figures) => of(figures).at(-1)?.rateRatio ?? null };
}

function verifiedCost(what: string, of: VerifiesOf): Goal<WeightFigures> {
  const title = `${what}: CPU of an event without the start, to that with a tenth of the events`;
  const value = (figures: WeightFigures): number | null => verifyCpuRatio(of(figures));
  return { title, bound: 'most', limit: 1.2, unit: 'x', value };
}

function started(title: string, limit: number, isOne: (what: string) => boolean): Goal<WeightFigures> {
  const value = ({ starts }: WeightFigures) =>
    worst(starts.filter(({ what }) => isOne(what)).map(({ seconds }) => seconds));
  return { title, bound: 'most', limit, unit: ' s', value };
}

const megabytes = (bytes: number | undefined): number | null => (bytes === undefined ? null : bytes / 1_000_000);
