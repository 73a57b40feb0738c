import { messageOf } from '../../../contracts/message-of.ts';
import { shortageOf } from '../../../contracts/shortage.ts';
import { mayPass } from '../../../ledger/event-log/sqlite/database-fault.ts';
import { roomKeptBytes } from '../../../ledger/journal/kept-room.ts';
import { freeBytesAt, mebibytes } from '../../../ledger/room-on-disk.ts';
import { readUndamaged } from '../../../projections/damaged-views.ts';
import { readFoldedThrough } from '../../../projections/known-views.ts';
import { bytesToKeepOthers, bytesToRebuild, madeBytes } from '../../../projections/rebuild/room-to-rebuild.ts';
import { removeViews } from '../../../projections/remove-views.ts';
import { viewFilesOf } from '../../../projections/view-files.ts';
import { ViewsNotWrittenError } from '../../../projections/view-store.ts';
import { isWantOfRoom } from '../../../projections/want-of-room.ts';
import { CommandError, EXIT } from '../command-context.ts';

/**
 * Before anything is written. @param isToGo whether what a rebuild before has made is not gone on with: it is no room that is taken for good. @throws
 * CommandError; as `isToGo`
 */
export async function assertRoom(data: string, isToGo: () => Promise<boolean>): Promise<void> {
  if (wantOfRoom(data, bytesToRebuild) === null) return;
  const { rebuild } = viewFilesOf(data);
  if (await isToGo()) removeViews(rebuild);
  const wanting = wantOfRoom(data, bytesToRebuild);
  if (wanting === null) return;
  const made = madeBytes(rebuild);
  const stays = made === 0 ? '' : `, beside the ${mebibytes(made)} that a rebuild before has made, which stay`;
  throw new CommandError(`${NO_ROOM}: ${wanting}${stays}. Make room, then run this again`, EXIT.unavailable);
}

/** Before one view alone is put among the live others. @throws ViewsNotWrittenError */
export function assertRoomForOthers(data: string): void {
  const message = wantOfRoom(data, bytesToKeepOthers);
  if (message !== null) throw new ViewsNotWrittenError({ message, mayPass: true, isFull: true });
}

/** What is needed beside the live views, and what there is; null where that is enough. */
function wantOfRoom(data: string, bytesOf: typeof bytesToRebuild): string | null {
  const files = viewFilesOf(data);
  const needed = bytesOf(files) + roomKeptBytes(data);
  const free = freeBytesAt(files.rebuildFolder);
  if (free >= needed) return null;
  return `${mebibytes(needed, Math.ceil)} have to be free, with what a gateway keeps for requests, and ${mebibytes(free)} are`;
}

interface OtherViews {
  /** The folder of the live ones. */
  readonly data: string;
  readonly path: string;
  /** Where there is no room the file goes: its views can be made anew, and who serves needs what they have taken. */
  readonly givesBack: boolean;
}

/**
 * Brings other views beside the live ones. @throws CommandError where there is no room for them, or they cannot be written, or read, for another
 * reason that may pass; what `bring` throws
 */
export async function orNoRoom<T>({ data, path, givesBack }: OtherViews, bring: () => Promise<T>): Promise<T> {
  try {
    return await bring();
  } catch (error) {
    const isForNow =
      error instanceof ViewsNotWrittenError ? error.mayPass : mayPass(error) || shortageOf(error) !== null;
    if (!isForNow) throw error;
    const isFull = isWantOfRoom(error);
    if (isFull && givesBack) removeViews(path);
    const why = isFull
      ? `${NO_ROOM}${givesBack ? GIVEN_BACK : ''}${howMuch(data, error)}${MAKE_ROOM}`
      : againFrom(path);
    throw new CommandError(`${messageOf(error)}: ${why}`, EXIT.unavailable);
  }
}

/** Where the error says nothing of it: SQLite does not. */
function howMuch(data: string, error: unknown): string {
  const wanting = error instanceof ViewsNotWrittenError ? null : wantOfRoom(data, bytesToKeepOthers);
  return wanting === null ? '' : `: ${wanting}`;
}

const againFrom = (path: string): string => (holdsNothing(path) ? FROM_THE_BEGINNING : AGAIN);

function holdsNothing(path: string): boolean {
  const looked = readUndamaged(path, () => readFoldedThrough(path));
  return looked.damage === null && looked.read === null;
}

const NO_ROOM = 'other views have no room beside the live ones, which are as they were';
const GIVEN_BACK = '. What was made of them is gone, for who serves needs the room';
const MAKE_ROOM = ': make as much as views.db has, then run this again';
const FROM_THE_BEGINNING =
  'the live views are as they were, and of the others nothing was kept yet; run this again, and it begins anew';
const AGAIN = 'the live views are as they were; run this again, and it goes on from where it was';
