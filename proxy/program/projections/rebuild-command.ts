import { existsSync } from 'node:fs';
import { Argument, type Command } from 'commander';
import type { Configuration } from '../../../contracts/configuration.ts';
import type { EventLog } from '../../../contracts/event-log.ts';
import { counted, groupedCount, groupedUsd } from '../../../contracts/money.ts';
import { readLedgerState } from '../../../ledger/identity/ledger-state.ts';
import { damageOf } from '../../../projections/damaged-views.ts';
import { areViewsOf, readFoldedThrough, readUpcastFrom } from '../../../projections/known-views.ts';
import { areOfThisProgram } from '../../../projections/prepared-views.ts';
import type { EventSums } from '../../../projections/rebuild/event-sums.ts';
import { hasKeptOthers, keepOtherViews, REBUILT_ALONE } from '../../../projections/rebuild/keep-other-views.ts';
import { type VerifiedViews, verifyRebuilt } from '../../../projections/rebuild/verify-rebuilt.ts';
import { removeViews } from '../../../projections/remove-views.ts';
import { areVerified, markVerified } from '../../../projections/verified-mark.ts';
import { viewFilesOf } from '../../../projections/view-files.ts';
import { type CommandCall, type CommandContext, CommandError, EXIT, withReadLog } from '../command-context.ts';
import { nextCommand, startedWithOf } from '../next-command.ts';
import { show } from '../show.ts';
import { broughtUp, damageOfLive, isServed, whatBecameOf, withViewsLocked } from './beside-live-views.ts';
import { comparedInWords, compareWithLive, SHOWN_MAX } from './compare-with-live.ts';
import { lineOf } from './difference-line.ts';
import { assertRoom, assertRoomForOthers, orNoRoom } from './or-no-room.ts';
import { switchViews } from './switch-views.ts';

interface RebuildOptions {
  readonly all?: boolean;
  readonly dryRun?: boolean;
  readonly anew?: boolean;
}

/** `gateway projections rebuild`: views made anew in the place of the live ones, while the gateway serves. */
export function addRebuildCommand(projections: Command, context: CommandContext): void {
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
      await withReadLog(context, command, (log, configuration, ledger) =>
        withViewsLocked(configuration, ledger, () =>
          rebuild({ context, command }, log, configuration, { ...options, only: view ?? null }),
        ),
      );
    });
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
  await orNoRoom({ data, path, givesBack: false }, () => assertRoom(data, () => isToGo(path, log, anew)));
  const { json, verified, damage, areOthers } = await orNoRoom({ data, path, givesBack: true }, () =>
    rebuilt(context, log, configuration, { dryRun, anew, only }),
  );
  const { events, leftBefore, shown, switched } = json;
  show(context, command, {
    json,
    text: () =>
      [
        ...shown.map(lineOf),
        `${counted(events, 'event')} folded${BEGAN[leftBefore]}: ${totalsInWords(verified)}`,
        comparedInWords(json),
        switched === null
          ? `nothing was switched: ${path}`
          : `switched ${switched}; ${whatBecameOf(damage, areOthers ? 'those of the other version are kept for its program' : `\`${nextCommand(startedWithOf(context), 'gateway', 'projections', 'rollback')}\` goes back`)}`,
      ].join('\n'),
  });
  if (dryRun && json.differences > 0) throw new CommandError(`differences found: ${json.differences}`, EXIT.faults);
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
  if (await isToGo(path, log, anew)) removeViews(path);
  const leftBefore = whatIsLeft(path);
  const { events, sums } = await broughtUp(context, log, { path, configuration });
  const verified = await verifiedViews(path, log, sums);
  const compared = compareWithLive({ live, rebuilt: path, only, damage });
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
  const isResumed = leftBefore === 'interrupted' || leftBefore === 'verified';
  const json = { events, isResumed, leftBefore, ...totals, ...compared, switched };
  return { json, verified, damage, areOthers: isUpcast || isOfThisProgram === false };
}

/** Whether what one before has left is not what this one goes on with. @throws EventLogError */
const isToGo = async (path: string, log: EventLog, anew: boolean): Promise<boolean> =>
  anew ||
  damageOf(path) !== null ||
  hasKeptOthers(path) ||
  areOfThisProgram(path) === false ||
  // Of another ledger, or of a generation of before.
  !areViewsOf(path, (await readLedgerState(log)).identity);

/** What one before has left: nothing, nothing that was folded, a part, or all, which were verified then and not switched to. */
type LeftBefore = 'nothing' | 'interrupted at its beginning' | 'interrupted' | 'verified';

function whatIsLeft(path: string): LeftBefore {
  if (!existsSync(path)) return 'nothing';
  if (readFoldedThrough(path) === null) return 'interrupted at its beginning';
  return areVerified(path) ? 'verified' : 'interrupted';
}

const BEGAN: { readonly [B in LeftBefore]: string } = {
  nothing: '',
  'interrupted at its beginning': ', from the beginning: of the one that was interrupted nothing was kept yet',
  interrupted: ', on from where the last one was interrupted',
  verified: ', on from those that were made and verified before, and not switched to',
};

/** @throws CommandError where they are not what the log says */
async function verifiedViews(path: string, log: EventLog, sums: EventSums | null): Promise<VerifiedViews> {
  const verified = await verifyRebuilt(path, log, sums);
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
  `${counted(accounts, 'account')} as far as their streams go, ${groupedCount(sampled)} of them value by value; ` +
  `${groupedUsd(balanceMicroUsd)} USD of balances`;
