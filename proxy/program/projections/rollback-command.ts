import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import type { Configuration } from '../../../contracts/configuration.ts';
import type { EventLog } from '../../../contracts/event-log.ts';
import type { LedgerIdentity } from '../../../contracts/ledger-identity.ts';
import { counted, groupedCount } from '../../../contracts/money.ts';
import { readLedgerState } from '../../../ledger/identity/ledger-state.ts';
import { damageOfRows } from '../../../projections/damaged-rows.ts';
import { damageOf, readUndamaged } from '../../../projections/damaged-views.ts';
import { readLedgerOfViews } from '../../../projections/known-views.ts';
import { areOfThisProgram } from '../../../projections/prepared-views.ts';
import { holdsViews } from '../../../projections/rebuild/bring-up.ts';
import { readStanding, type ViewsStanding } from '../../../projections/rebuild/views-facts.ts';
import { viewFilesOf } from '../../../projections/view-files.ts';
import {
  type CommandCall,
  type CommandContext,
  CommandError,
  configurationOf,
  EXIT,
  withReadLogIfThere,
} from '../command-context.ts';
import { show } from '../show.ts';
import { broughtUp, damageOfLive, isServed, whatBecameOf, withViewsLocked } from './beside-live-views.ts';
import { orNoRoom } from './or-no-room.ts';
import { switchViews } from './switch-views.ts';

/** `gateway projections rollback`: the views of before in the place of the live ones, while the gateway serves. */
export function addRollbackCommand(projections: Command, context: CommandContext): void {
  projections
    .command('rollback')
    .description(
      'go back to the views of before the last switch, which read what has come since; those of now are kept then. While the log' +
        ' does not answer that is done where no gateway runs, and its next start reads',
    )
    .addHelpText('after', '\nExample:\n  gateway projections rollback')
    .action(async (_options: unknown, command: Command) => {
      const configuration = configurationOf(context, command);
      await withReadLogIfThere(context, command, {
        work: (log, ledger) =>
          withViewsLocked(configuration, ledger, () => rollback({ context, command }, log, configuration)),
        unknown: 'whether the ledger is whole was not looked at',
      });
    });
}

/** @param log null where it does not answer */
async function rollback(
  { context, command }: CommandCall,
  log: EventLog | null,
  configuration: Configuration,
): Promise<void> {
  const { data } = configuration;
  const { previous } = viewFilesOf(data);
  const { from, to, events, switched, damage } = await orNoRoom({ data, path: previous, givesBack: false }, () =>
    rolledBack(context, log, configuration),
  );
  const read = events === null ? 'what has come since is read by the next start' : `${counted(events, 'event')} read`;
  show(context, command, {
    json: { from, to, events, switched },
    text: [
      `from ${from === null ? 'views that cannot be read' : standingInWords(from)}`,
      `to ${standingInWords(to)}; ${read}`,
      `switched ${switched}; ${whatBecameOf(damage, 'the views that were live are kept in their place')}`,
    ].join('\n'),
  });
}

function standingInWords({ position, currentAt, versions }: ViewsStanding): string {
  const where = position === null ? 'of nothing yet' : `up to position ${groupedCount(position)}`;
  const when = currentAt === null ? 'which never had all' : `which had all at ${currentAt}`;
  const which = Object.entries(versions).map(([view, version]) => `${view} ${version}`);
  return `views ${where}, ${when} (${which.join(', ')})`;
}

async function rolledBack(context: CommandContext, log: EventLog | null, configuration: Configuration) {
  const { live, previous } = viewFilesOf(configuration.data);
  const damage = damageOfLive(configuration);
  if (!existsSync(previous)) throw new CommandError('no views of before a switch are kept', EXIT.refused);
  if (areOfThisProgram(previous) === false)
    throw new CommandError(
      `${previous} is of another version: a program of that version takes it up at its start, and this one cannot go back to it`,
      EXIT.refused,
    );
  if (log === null && isServed(configuration))
    throw new CommandError(
      'the log does not answer, and the gateway on this folder goes over to other views only once they have read all of it: run this again when it answers,' +
        ' or while no gateway runs on the folder',
      EXIT.unavailable,
    );
  const identity = log === null ? identityOf(damage === null ? live : previous) : (await readLedgerState(log)).identity;
  const to = standingOf(previous, identity);
  const from = damage === null ? readStanding(live) : null;
  const events = log === null ? null : (await broughtUp(context, log, { path: previous, configuration })).events;
  const switched = await switchViews(context, configuration, { to: 'previous', isLiveDamaged: damage !== null });
  return { from, to, events, switched, damage };
}

/** Where nobody else says which ledger it is: the next start compares it with that. */
const identityOf = (path: string): LedgerIdentity | null => {
  const looked = readUndamaged(path, () => readLedgerOfViews(path));
  return looked.damage === null ? looked.read : null;
};

/** Of the views that are gone back to. @throws CommandError where that cannot be */
function standingOf(previous: string, identity: LedgerIdentity | null): ViewsStanding {
  // What a start reads of them at once has to be of its form, too: else it would be told as a fault of the ledger.
  const held = readUndamaged(previous, () => holdsViews(previous, identity));
  const damage = damageOf(previous) ?? damageOfRows(previous) ?? held.damage;
  if (damage !== null)
    throw new CommandError(
      `${previous}, the views that are kept to go back to, cannot be read as views (${damage}): rebuild instead`,
      EXIT.refused,
    );
  const standing = held.damage === null && held.read ? readStanding(previous) : null;
  if (standing === null)
    throw new CommandError(`${previous} holds no views of this program and ledger: rebuild instead`, EXIT.refused);
  return standing;
}
