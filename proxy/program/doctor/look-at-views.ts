import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { EventLog } from '../../../contracts/event-log.ts';
import { isFolderLocked } from '../../../ledger/journal/folder-lock.ts';
import { mebibytes } from '../../../ledger/room-on-disk.ts';
import { readUndamaged } from '../../../projections/damaged-views.ts';
import { readFoldedThrough, readUpcastFrom, VIEWS_FILE } from '../../../projections/known-views.ts';
import { areOfThisProgram } from '../../../projections/prepared-views.ts';
import { freeBytesToUpcast } from '../../../projections/rebuild/room-to-rebuild.ts';
import { viewFilesOf } from '../../../projections/view-files.ts';
import { lengthOf } from '../../clock/clock-watch.ts';
import { describeDamage } from '../ledger/proven-ledger.ts';
import { nextCommand, startedWithOf } from '../next-command.ts';
import { howFar, lagInEvents } from '../projections/views-lag.ts';
import { type Examined, type Found, fault, ok, warn } from './finding.ts';

/** How far the views' file lags behind the log, and whether its rows are those of this program's own fold. */
export async function lookAtViews(log: EventLog, examined: Examined): Promise<Found> {
  const found = await lookAtLag(log, examined);
  const { live, rebuildFolder } = viewFilesOf(examined.configuration.data);
  if (found.state !== 'fault' && examined.isServed && areOfThisProgram(live) === false)
    return warn(
      `${found.says}; of another version than this program's, and not made one of it`,
      `make room on the disk: ${mebibytes(freeBytesToUpcast(examined.configuration.data), Math.ceil)} have to be free; the log of the gateway says why`,
    );
  const looked = readUndamaged(live, () => [...readUpcastFrom(live)]);
  if (found.state !== 'ok' || looked.damage !== null || looked.read.length === 0) return found;
  const versions = looked.read.map(([view, version]) => `${view} ${version}`).join(', ');
  const says = `${found.says}; read from rows of an earlier version (${versions})`;
  if (isFolderLocked(rebuildFolder)) return ok(`${says}, and being rebuilt`);
  return warn(
    `${says}, and not rebuilt`,
    `the log of the gateway says why; \`${nextCommand(startedWithOf(examined.context), 'gateway', 'projections', 'rebuild', '--all')}\` does it by hand`,
  );
}

async function lookAtLag(log: EventLog, { context, configuration, isServed }: Examined): Promise<Found> {
  const { data, projections } = configuration;
  const file = join(data, VIEWS_FILE);
  if (!existsSync(file)) return warn('there are none yet', 'the next start makes them from the log');
  const looked = readUndamaged(file, () => readFoldedThrough(file));
  if (looked.damage !== null) return warn(describeDamage(data, looked.damage));
  const { position: through, lag } =
    looked.read === null ? { position: null, lag: null } : await howFar(log, file, looked.read);
  if (through === null || lag === null)
    return isServed ? ok('nothing of them is written yet') : warn('they hold nothing yet', 'the next start makes them');
  if (lag.events === 0) return ok(`up to position ${through}, the newest`);
  const agoMs = lag.sinceMs === null ? 0 : Math.max(0, context.clock() - lag.sinceMs);
  const says = `up to position ${through}; ${lagInEvents(lag)} behind, the first of them ${lengthOf(agoMs)} old`;
  // As old as that, a gateway admits nothing by them.
  if (isServed && agoMs > projections.maxAgeMs)
    return fault(says, 'look at the log of the gateway: its views do not follow');
  return isServed ? ok(says) : warn(says, 'the next start reads on from there');
}
