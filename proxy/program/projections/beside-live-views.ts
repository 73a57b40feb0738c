import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { setFlagsFromString } from 'node:v8';
import type { Configuration } from '../../../contracts/configuration.ts';
import type { EventLog } from '../../../contracts/event-log.ts';
import { makeFolders } from '../../../ledger/folder-owner.ts';
import { readLedgerState } from '../../../ledger/identity/ledger-state.ts';
import { isFolderLocked, lockFolder } from '../../../ledger/journal/folder-lock.ts';
import { JournalError } from '../../../ledger/journal/journal-error.ts';
import { roomKeptBytes } from '../../../ledger/journal/kept-room.ts';
import { journalFolder } from '../../../ledger/journal/segment-folder.ts';
import { damageOfRows } from '../../../projections/damaged-rows.ts';
import { damageOf } from '../../../projections/damaged-views.ts';
import { catchUpPauseMs, VIEW_LIMITS } from '../../../projections/limits.ts';
import { bringUp } from '../../../projections/rebuild/bring-up.ts';
import type { LedgerInParts } from '../../../projections/rebuild/fold-in-parts.ts';
import { keepUnkept, previousViews } from '../../../projections/switched-file.ts';
import { viewFilesOf } from '../../../projections/view-files.ts';
import { type CommandContext, CommandError, EXIT, type ProvenLedger } from '../command-context.ts';
import { ledgerFile } from '../open-event-log.ts';
import { Progress } from '../progress.ts';

/** A look asks for a file's lock, and a gateway that starts is there for long. */
const SERVED_LOOK_MS = 500;

/** One at a time for a data folder makes views anew, or goes back. @param ledger null where the log does not answer @throws CommandError */
export async function withViewsLocked(
  configuration: Configuration,
  ledger: Pick<ProvenLedger, 'error' | 'lost'> | null,
  work: () => Promise<void>,
): Promise<void> {
  if (ledger !== null && ledger.error !== null)
    throw new CommandError(
      `the views know another ledger than this: nothing is made of it${ledger.lost === undefined ? OF_ANOTHER : ''}`,
      EXIT.refused,
    );
  if (configuration.projections.source !== 'log')
    throw new CommandError(
      'these views are fed from a topic: how far they are its partitions say, and not a position to which others could be made beside them.' +
        ' Stop the gateway and move views.db away (with its -wal and -shm): its start makes them anew from the topic, and admits nothing before;' +
        ' `gateway projections diff` compares those that are there',
      EXIT.refused,
    );
  const { rebuildFolder } = viewFilesOf(configuration.data);
  makeFolders(rebuildFolder);
  const lock = lockOf(rebuildFolder);
  try {
    finishLastSwitch(configuration);
    await work();
  } finally {
    lock.release();
  }
}

/** Whoever switches again would have no other place for the ones of before. @throws CommandError */
function finishLastSwitch({ data }: Configuration): void {
  const files = viewFilesOf(data);
  try {
    keepUnkept(files);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    throw new CommandError(
      `the views of before the last switch stand in ${previousViews(files)}, and cannot be given their name: ${error.message}`,
      EXIT.refused,
    );
  }
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

export const isServed = ({ data }: Configuration): boolean => {
  const journal = journalFolder(data);
  return existsSync(journal) && isFolderLocked(journal);
};

/**
 * Why the live views cannot be relied on; null where they can. @throws CommandError where a gateway has them open, which can go over to others
 * from rows that are wrong, and not from what is no file of views
 */
export function damageOfLive(configuration: Configuration): string | null {
  const { live } = viewFilesOf(configuration.data);
  const damage = damageOf(live);
  if (damage === null) return damageOfRows(live);
  if (!isServed(configuration)) return damage;
  throw new CommandError(
    `${live} cannot be read as views (${damage}), and the gateway on this folder has it open: restart that, and it makes them anew`,
    EXIT.refused,
  );
}

export const whatBecameOf = (damage: string | null, otherwise: string): string =>
  damage === null ? otherwise : `what was there cannot be relied on (${damage}): nobody goes back to it`;

/** @throws as `bringUp` */
export async function broughtUp(
  context: CommandContext,
  log: EventLog,
  { path, configuration }: { readonly path: string; readonly configuration: Configuration },
): ReturnType<typeof bringUp> {
  // Of this process alone, beside a gateway that serves: it collects when there is little more than half as much garbage as it holds, and not thrice that.
  setFlagsFromString('--heap-growing-percent=60');
  // With all cores taken the gateway would wait for its turns.
  const giveWay = givingWay(context, configuration);
  giveWay();
  const { identity } = await readLedgerState(log);
  using progress = new Progress(context, 'events');
  return await bringUp({
    ...{ log, ledger: ledgerInParts(configuration), path, identity, clock: context.clock },
    keepFreeBytes: roomKeptBytes(configuration.data),
    onFolded: (events, of) => {
      giveWay();
      progress.add(events, of);
    },
  });
}

/**
 * To be called at the beginning, and again and again on the way: from the moment on that a gateway is seen to serve from the folder, what
 * it does comes before this process's work. It may have started since.
 */
function givingWay({ giveWay, clock }: CommandContext, configuration: Configuration): () => void {
  let isGiven = giveWay === undefined;
  let lookedMs = Number.NEGATIVE_INFINITY;
  return () => {
    if (isGiven) return;
    const nowMs = clock();
    if (Math.abs(nowMs - lookedMs) < SERVED_LOOK_MS) return;
    lookedMs = nowMs;
    if (!isServed(configuration)) return;
    isGiven = true;
    giveWay?.();
  };
}

/** Null where one thread folds as soon as several. */
function ledgerInParts(configuration: Configuration): LedgerInParts | null {
  const file = ledgerFile(configuration);
  const parts = Math.min(availableParallelism(), VIEW_LIMITS.foldThreadsMax);
  if (file === null || parts === 1) return null;
  const { foldedInPartsFrom: from, stretchPositions } = VIEW_LIMITS;
  return { file, parts, from, stretchPositions, pauseMs: catchUpPauseMs };
}
