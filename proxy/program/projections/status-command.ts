import { statSync } from 'node:fs';
import type { Command } from 'commander';
import type { ReadableLog } from '../../../contracts/event-log.ts';
import { groupedCount } from '../../../contracts/money.ts';
import { brief } from '../../../contracts/printable.ts';
import { isFolderLocked } from '../../../ledger/journal/folder-lock.ts';
import { journalFolder } from '../../../ledger/journal/segment-folder.ts';
import { accountsAsideIn } from '../../../projections/accounts-aside-in.ts';
import { readUndamaged } from '../../../projections/damaged-views.ts';
import { type AsideFacts, readViewsFacts, type ViewsFacts } from '../../../projections/rebuild/views-facts.ts';
import { LOG_SOURCE } from '../../../projections/sources/log-view-source.ts';
import { previousViews } from '../../../projections/switched-file.ts';
import { areVerified } from '../../../projections/verified-mark.ts';
import { viewFilesOf } from '../../../projections/view-files.ts';
import { viewsOfThisProgram } from '../../../projections/views-of-this-program.ts';
import { lengthOf } from '../../clock/clock-watch.ts';
import { type CommandContext, configurationOf, withReadLogIfThere } from '../command-context.ts';
import { fittingTable, show } from '../show.ts';
import { howFar, lagInWords, type ViewsLag } from './views-lag.ts';

/** `gateway projections status`: what the files of views say, beside a gateway that runs or without one. */
export function addStatusCommand(projections: Command, context: CommandContext): void {
  projections
    .command('status')
    .description(
      'each view with its version, state, how far it has come and lags behind, rows and size; and the accounts that are set' +
        ' aside, with the event that did it',
    )
    .addHelpText('after', '\nExamples:\n  gateway projections status\n  gateway projections status --json')
    .action(async (_options: unknown, command: Command) => {
      const { data } = configurationOf(context, command);
      const status = await withReadLogIfThere(context, command, {
        work: (log) => statusOf(log, data, context.clock()),
        unknown: 'what follows is as the folder has it, and how far views lag behind is not known',
      });
      show(context, command, { json: status, text: () => textOf(status, context), isPainted: true });
    });
}

type State =
  | 'live'
  | 'catching up'
  | 'log out of sight'
  | 'stopped'
  | 'rebuilding'
  | 'rebuilt, not switched'
  | 'rebuild interrupted'
  | 'rebuild interrupted at its beginning'
  | 'kept for rollback';

/** A file of views. */
interface FileStatus extends Omit<ViewsFacts, 'currentAtMs' | 'foldedLately' | 'last' | 'views'> {
  readonly file: string;
  readonly state: State;
  /** Of one whose rows were made of those of an earlier version, which it is served from. */
  readonly views: readonly (ViewsFacts['views'][number] & { readonly state: State | `serving version ${string}` })[];
  readonly lag: { readonly events: number; readonly seconds: number } | null;
  /** How many events were folded a second, in the last seconds; null where nobody folds. */
  readonly eventsPerS: number | null;
  /** When they were last known to hold everything. */
  readonly currentAt: string | null;
}

interface Status {
  readonly files: readonly FileStatus[];
  /** Of the live views. */
  readonly setAside: readonly AsideFacts[];
  /** Files that cannot be read as views. */
  readonly damaged: readonly { readonly file: string; readonly why: string }[];
}

/** Of the log what a person calls live: what is flushed to the file comes a moment later. */
const LIVE_LAG_MS = 10_000;

/** @param log null where it does not answer */
async function statusOf(log: ReadableLog | null, data: string, nowMs: number): Promise<Status> {
  const { live, rebuild, rebuildFolder } = viewFilesOf(data);
  const previous = previousViews(viewFilesOf(data));
  const isServed = isFolderLocked(journalFolder(data));
  const isRebuilding = isFolderLocked(rebuildFolder);
  const stateOf = (file: string, { currentAtMs }: ViewsFacts, lag: ViewsLag | null): State => {
    if (file === previous) return 'kept for rollback';
    if (file === live && !isServed) return 'stopped';
    if (file === live && log === null) return 'log out of sight';
    const isBehind = lag === null ? currentAtMs === null : lagMs(lag, nowMs) > LIVE_LAG_MS;
    if (file === live) return isBehind ? 'catching up' : 'live';
    if (isRebuilding) return 'rebuilding';
    return areVerified(file) ? 'rebuilt, not switched' : 'rebuild interrupted';
  };
  const found = [live, rebuild, previous].map((file) => ({ file, ...readUndamaged(file, () => readViewsFacts(file)) }));
  const files: FileStatus[] = [];
  for (const one of found) {
    if (one.damage !== null) continue;
    if (one.read === null) {
      const bytes = one.file === rebuild ? statSync(rebuild, { throwIfNoEntry: false })?.size : undefined;
      if (bytes !== undefined) files.push(begun(rebuild, bytes, isRebuilding));
      continue;
    }
    const { last: _, currentAtMs, foldedLately, views, ...facts } = one.read;
    const { position, lag } =
      log === null ? { position: one.read.position, lag: null } : await howFar(log, one.file, one.read);
    const state = stateOf(one.file, one.read, lag);
    const isServing = one.file === live && isServed;
    files.push({
      ...{ file: one.file, state, ...facts, position },
      views: views.map((view) => ({
        ...view,
        state: (isServing ? servingOlder(view, isRebuilding) : null) ?? state,
      })),
      lag: lag && { events: lag.events, seconds: Math.round(lagMs(lag, nowMs) / 1_000) },
      eventsPerS:
        (one.file === live && isServed) || (one.file === rebuild && isRebuilding) ? rateOf(foldedLately, nowMs) : null,
      currentAt: currentAtMs === null ? null : new Date(currentAtMs).toISOString(),
    });
  }
  return {
    files,
    setAside: accountsAsideIn(data),
    damaged: found.flatMap(({ file, damage }) => (damage === null ? [] : [{ file, why: damage }])),
  };
}

/** Views that are made anew, and of which nothing was written yet. */
function begun(file: string, bytes: number, isRebuilding: boolean): FileStatus {
  const state: State = isRebuilding ? 'rebuilding' : 'rebuild interrupted at its beginning';
  const ofProgram = viewsOfThisProgram().toSorted((one, other) => (one.name < other.name ? -1 : 1));
  const views = ofProgram.map(({ name, version }) => ({
    ...{ name, version, state, upcastFrom: null, rows: 0, bytes: 0 },
  }));
  const unknown = { position: null, lag: null, eventsPerS: null, currentAt: null };
  return { file, state, feed: LOG_SOURCE, ...unknown, bytes, views };
}

/** Null where it is served from as it is folded. */
function servingOlder({ name, version, upcastFrom }: ViewsFacts['views'][number], isRebuilding: boolean) {
  const now = viewsOfThisProgram().find((view) => view.name === name)?.version ?? version;
  if (version < now) return `serving version ${version}, ${now} not made` as const;
  if (upcastFrom === null) return null;
  return `serving version ${upcastFrom}, ${isRebuilding ? `rebuilding ${version}` : `${version} not rebuilt`}` as const;
}

/** Views that are made anew are written every 15 seconds. */
const RATE_OLD_MS = 30_000;

function rateOf(lately: ViewsFacts['foldedLately'], nowMs: number): number | null {
  if (lately === null || nowMs - lately.atMs > RATE_OLD_MS) return null;
  return Math.round((lately.events * 1_000) / lately.ofMs);
}

const lagMs = ({ sinceMs }: ViewsLag, nowMs: number): number => (sinceMs === null ? 0 : Math.max(0, nowMs - sinceMs));

function textOf({ files, setAside, damaged }: Status, context: CommandContext): string {
  const rows = files.flatMap(({ views, position, lag, eventsPerS }) =>
    views.map(({ name, version, state, rows, bytes }) => [
      ...[name, String(version), state, position === null ? '-' : groupedCount(position)],
      ...(lag === null ? ['-', '-'] : [lagInWords(lag), lengthOf(lag.seconds * 1_000)]),
      eventsPerS === null ? '-' : groupedCount(eventsPerS),
      ...[groupedCount(rows), `${groupedCount(Math.ceil(bytes / 1_024))} KiB`],
    ]),
  );
  const aside = setAside.map(({ accountId, cause, revision, why }) => [
    brief(accountId),
    cause,
    revision?.toString() ?? '-',
    why,
  ]);
  return [
    rows.length === 0
      ? 'there are no views yet: a gateway makes them at its start'
      : fittingTable(VIEWS, rows, context),
    ...files.map(
      ({ file, feed, bytes }) => `${file}: ${groupedCount(Math.ceil(bytes / 1_024))} KiB, fed from the ${feed}`,
    ),
    ...damaged.map(({ file, why }) => `${file} cannot be read as views (${why})`),
    aside.length === 0 ? 'no account is set aside' : `\n${fittingTable(ASIDE, aside, context)}`,
  ].join('\n');
}

const left = (head: string) => ({ head, align: 'left' }) as const;
const right = (head: string) => ({ head, align: 'right' }) as const;
const VIEWS = [
  ...[
    left('view'),
    right('version'),
    left('state'),
    right('position'),
    right('events behind'),
    right('behind'),
    right('events/s'),
  ],
  ...[right('rows'), right('size')],
];
const ASIDE = [left('set aside'), left('cause'), right('revision'), left('why')];
