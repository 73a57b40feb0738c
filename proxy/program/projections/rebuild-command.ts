import { existsSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { Argument, type Command } from 'commander';
import type { Configuration } from '../../../contracts/configuration.ts';
import type { EventLog } from '../../../contracts/event-log.ts';
import { groupedCount, groupedUsd } from '../../../contracts/money.ts';
import { makeFolders } from '../../../ledger/folder-owner.ts';
import { readLedgerState } from '../../../ledger/identity/ledger-state.ts';
import { isFolderLocked, lockFolder } from '../../../ledger/journal/folder-lock.ts';
import { JournalError } from '../../../ledger/journal/journal-error.ts';
import { roomKeptBytes } from '../../../ledger/journal/kept-room.ts';
import { journalFolder } from '../../../ledger/journal/segment-folder.ts';
import { damageOfRows } from '../../../projections/damaged-rows.ts';
import { damageOf, readUndamaged } from '../../../projections/damaged-views.ts';
import { readFoldedThrough, readUpcastFrom } from '../../../projections/known-views.ts';
import { areOfThisProgram } from '../../../projections/prepared-views.ts';
import { bringUp, holdsViews } from '../../../projections/rebuild/bring-up.ts';
import { compareFiles } from '../../../projections/rebuild/compare-files.ts';
import type { EventSums } from '../../../projections/rebuild/event-sums.ts';
import { hasKeptOthers, keepOtherViews, REBUILT_ALONE } from '../../../projections/rebuild/keep-other-views.ts';
import type { RowDifference } from '../../../projections/rebuild/row-difference.ts';
import { type VerifiedViews, verifyRebuilt } from '../../../projections/rebuild/verify-rebuilt.ts';
import { removeViews } from '../../../projections/remove-views.ts';
import { markVerified } from '../../../projections/verified-mark.ts';
import { viewFilesOf } from '../../../projections/view-files.ts';
import { type CommandCall, type CommandContext, CommandError, EXIT, withReadLog } from '../command-context.ts';
import { Progress } from '../progress.ts';
import { show } from '../show.ts';
import { lineOf } from './difference-line.ts';
import { assertRoom, assertRoomForOthers, orNoRoom } from './or-no-room.ts';
import { switchViews } from './switch-views.ts';

interface RebuildOptions {
  readonly all?: boolean;
  readonly dryRun?: boolean;
  readonly anew?: boolean;
}

/** `gateway projections rebuild` and `rollback`: other views in the place of the live ones, while the gateway serves. */
export function addRebuildCommands(projections: Command, context: CommandContext): void {
  projections
    .command('rebuild')
    .description(
      'make the views anew from the log, in this process and beside the live ones, verify them and switch to them in one step,' +
        ' while a gateway serves. Interrupted, nothing has changed, and run again it goes on where it was',
    )
    .addArgument(new Argument('[view]', 'one view alone').choices(REBUILT_ALONE))
    .option('--all', 'all views')
    .option(
      '--dry-run',
      'compare them with the live ones instead, one line a difference; exit code 5 where there is any',
    )
    .option('--anew', 'from the beginning, also where one that was interrupted could be gone on with')
    .addHelpText(
      'after',
      '\nThe views of before are kept: `gateway projections rollback` goes back to them.' +
        '\n\nExamples:\n  gateway projections rebuild --all --dry-run\n  gateway projections rebuild --all\n  gateway projections rebuild monthly',
    )
    .action(async (view: string | undefined, options: RebuildOptions, command: Command) => {
      if ((options.all === true) === (view !== undefined))
        throw new CommandError('name the view to rebuild, or --all, and not both', EXIT.usage);
      await withViewsLocked({ context, command }, (log, configuration) =>
        rebuild({ context, command }, log, configuration, { ...options, only: view ?? null }),
      );
    });
  projections
    .command('rollback')
    .description(
      'go back to the views of before the last switch, which read what has come since; those of now are kept then',
    )
    .addHelpText('after', '\nExample:\n  gateway projections rollback')
    .action((_options: unknown, command: Command) =>
      withViewsLocked({ context, command }, (log, configuration) => rollback({ context, command }, log, configuration)),
    );
}

/** One at a time for a data folder. @throws CommandError */
async function withViewsLocked(
  { context, command }: CommandCall,
  work: (log: EventLog, configuration: Configuration) => Promise<void>,
): Promise<void> {
  await withReadLog(context, command, async (log, configuration, { error, lost }) => {
    if (error !== null)
      throw new CommandError(
        `the views know another ledger than this: nothing is made of it${lost === undefined ? OF_ANOTHER : ''}`,
        EXIT.refused,
      );
    if (configuration.projections.source !== 'log')
      throw new CommandError(
        'these views are fed from a topic: they are made anew where views.db is moved away',
        EXIT.refused,
      );
    const { rebuildFolder } = viewFilesOf(configuration.data);
    makeFolders(rebuildFolder);
    const lock = lockOf(rebuildFolder);
    try {
      await work(log, configuration);
    } finally {
      lock.release();
    }
  });
}

/** Where the ledger has lost nothing that is known of it. */
const OF_ANOTHER =
  '. Where it is the right one, and views.db alone says otherwise, move that away: the next start makes it anew';

function lockOf(folder: string) {
  try {
    return lockFolder(folder);
  } catch (error) {
    if (!(error instanceof JournalError)) throw error;
    throw new CommandError('another command rebuilds these views, or rolls them back', EXIT.refused);
  }
}

interface Rebuilding {
  readonly dryRun: boolean;
  readonly anew: boolean;
  /** One view alone. */
  readonly only: string | null;
}

async function rebuild(
  { context, command }: CommandCall,
  log: EventLog,
  configuration: Configuration,
  { dryRun = false, anew = false, only }: RebuildOptions & Pick<Rebuilding, 'only'>,
): Promise<void> {
  const { data } = configuration;
  const { rebuild: path } = viewFilesOf(data);
  assertRoom(data);
  const { json, verified, damage, isUpcast } = await orNoRoom({ path, givesBack: true }, () =>
    rebuilt(context, log, configuration, { dryRun, anew, only }),
  );
  const { events, isResumed, compared, differences, shown, switched } = json;
  show(context, command, {
    json,
    text: () =>
      [
        ...shown.map(lineOf),
        `${groupedCount(events)} events folded${isResumed ? ', on from where the last one was interrupted' : ''}: ${totalsInWords(verified)}`,
        compared === null
          ? 'there are no live views of these versions: nothing was compared'
          : `${groupedCount(compared.compared)} rows of accounts compared with the live ones, ${groupedCount(compared.movedOn)} went on meanwhile: ${groupedCount(differences)} differences`,
        switched === null
          ? `nothing was switched: ${path}`
          : `switched ${switched}; ${whatBecameOf(damage, isUpcast ? 'those of the earlier version are kept for its program' : '`gateway projections rollback` goes back')}`,
      ].join('\n'),
  });
  if (dryRun && differences > 0) throw new CommandError(`differences found: ${differences}`, EXIT.faults);
}

async function rebuilt(
  context: CommandContext,
  log: EventLog,
  configuration: Configuration,
  { dryRun, anew, only }: Rebuilding,
) {
  const { data } = configuration;
  const { live, rebuild: path } = viewFilesOf(data);
  const damage = damageOfLive(configuration);
  const isOfThisProgram = damage === null ? areOfThisProgram(live) : null;
  const isUpcast = damage === null && readUpcastFrom(live).size > 0;
  if (only !== null && damage !== null)
    throw new CommandError(`the other views cannot stay, for ${live} is damaged (${damage}): --all`, EXIT.refused);
  if (only !== null && (isOfThisProgram !== true || isUpcast))
    throw new CommandError('the other views are not of this program, and cannot stay: --all', EXIT.refused);
  if (anew || damageOf(path) !== null || hasKeptOthers(path) || areOfThisProgram(path) === false) removeViews(path);
  const isResumed = readFoldedThrough(path) !== null;
  const { events, sums } = await broughtUp(context, log, { path, data });
  const verified = await verifiedViews(path, log, sums);
  const differences: RowDifference[] = [];
  let found = 0;
  const compared =
    isOfThisProgram && damage === null
      ? compareFiles({ live, rebuilt: path }, (difference) => {
          if (only !== null && !difference.table.startsWith(`${only}_v`)) return;
          found++;
          if (differences.length < SHOWN_MAX) differences.push(difference);
        })
      : null;
  if (only !== null && !dryRun) {
    assertRoomForOthers(data);
    keepOtherViews(path, live, only);
  }
  // The gateway that runs is another program, which could not read them.
  const isOthers = isOfThisProgram === false && isServed(configuration);
  const switched = dryRun
    ? null
    : isOthers
      ? 'at the next start, by this program'
      : await switchViews(context, configuration, { to: 'rebuild', isLiveDamaged: damage !== null });
  const { faults: _, ...totals } = verified;
  const json = { ...{ events, isResumed, ...totals, compared, differences: found, shown: differences, switched } };
  return { json, verified, damage, isUpcast };
}

const SHOWN_MAX = 1_000;

const isServed = ({ data }: Configuration): boolean => {
  const journal = journalFolder(data);
  return existsSync(journal) && isFolderLocked(journal);
};

/**
 * Why the live views cannot be relied on; null where they can. @throws CommandError where a gateway has them open, which can go over to others
 * from rows that are wrong, and not from what is no file of views
 */
function damageOfLive(configuration: Configuration): string | null {
  const { live } = viewFilesOf(configuration.data);
  const damage = damageOf(live);
  if (damage === null) return damageOfRows(live);
  if (!isServed(configuration)) return damage;
  throw new CommandError(
    `${live} cannot be read as views (${damage}), and the gateway on this folder has it open: restart that, and it makes them anew`,
    EXIT.refused,
  );
}

const whatBecameOf = (damage: string | null, otherwise: string): string =>
  damage === null ? otherwise : `what was there cannot be relied on (${damage}): nobody goes back to it`;

async function rollback({ context, command }: CommandCall, log: EventLog, configuration: Configuration): Promise<void> {
  const { previous } = viewFilesOf(configuration.data);
  const { events, switched, damage } = await orNoRoom({ path: previous, givesBack: false }, () =>
    rolledBack(context, log, configuration),
  );
  show(context, command, {
    json: { events, switched },
    text: `${groupedCount(events)} events read since; switched ${switched}; ${whatBecameOf(damage, 'the views of before are kept in their place')}`,
  });
}

async function rolledBack(context: CommandContext, log: EventLog, configuration: Configuration) {
  const { data } = configuration;
  const { previous } = viewFilesOf(data);
  const damage = damageOfLive(configuration);
  if (!existsSync(previous)) throw new CommandError('no views of before a switch are kept', EXIT.refused);
  if (areOfThisProgram(previous) === false)
    throw new CommandError(
      `${previous} is of another version: a program of that version takes it up at its start, and this one cannot go back to it`,
      EXIT.refused,
    );
  const { identity } = await readLedgerState(log);
  // What a start reads of them at once has to be of its form, too: else it would be told as a fault of the ledger.
  const held = readUndamaged(previous, () => holdsViews(previous, identity));
  const damageOfPrevious = damageOf(previous) ?? damageOfRows(previous) ?? held.damage;
  if (damageOfPrevious !== null)
    throw new CommandError(
      `${previous}, the views that are kept to go back to, cannot be read as views (${damageOfPrevious}): rebuild instead`,
      EXIT.refused,
    );
  if (held.damage === null && !held.read)
    throw new CommandError(`${previous} holds no views of this program and ledger: rebuild instead`, EXIT.refused);
  const { events } = await broughtUp(context, log, { path: previous, data });
  const switched = await switchViews(context, configuration, { to: 'previous', isLiveDamaged: damage !== null });
  return { events, switched, damage };
}

async function broughtUp(
  context: CommandContext,
  log: EventLog,
  { path, data }: { readonly path: string; readonly data: string },
): ReturnType<typeof bringUp> {
  // Of this process alone, beside a gateway that serves: it collects when there is as much garbage as it holds, and not thrice that.
  setFlagsFromString('--heap-growing-percent=100');
  const { identity } = await readLedgerState(log);
  using progress = new Progress(context, 'events');
  return await bringUp({
    ...{ log, path, identity, clock: context.clock, keepFreeBytes: roomKeptBytes(data) },
    onFolded: (events, of) => progress.add(events, of),
  });
}

/** @throws CommandError where they are not what the log says */
async function verifiedViews(path: string, log: EventLog, counted: EventSums | null): Promise<VerifiedViews> {
  const verified = await verifyRebuilt(path, log, counted);
  if (verified.faults.length === 0) {
    markVerified(path, true);
    return verified;
  }
  // Whoever begins again does not go on with it, and no start takes it.
  removeViews(path);
  throw new CommandError(
    `what was rebuilt is not what the log says, and is not switched to:\n${verified.faults.slice(0, SHOWN_MAX).join('\n')}`,
    EXIT.faults,
  );
}

const totalsInWords = ({ accounts, sampled, balanceMicroUsd }: VerifiedViews): string =>
  `${groupedCount(accounts)} accounts as far as their streams go, ${groupedCount(sampled)} of them value by value; ` +
  `${groupedUsd(balanceMicroUsd)} USD of balances`;
