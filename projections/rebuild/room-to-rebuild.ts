import { statSync } from 'node:fs';
import { roomKeptBytes } from '../../ledger/journal/kept-room.ts';
import { VIEW_LIMITS } from '../limits.ts';
import { type ViewFiles, viewFilesOf } from '../view-files.ts';

type Files = Pick<ViewFiles, 'live' | 'rebuild'>;

/**
 * Bytes that views made anew take of the disk beyond what is made of them already, counted from the live ones. Twice those: while the
 * views catch up one transaction may have all rows, so that the WAL is as long as the file that it is written into behind it,
 * and stays so. The switch itself takes nothing: the old ones are renamed.
 */
export const bytesToRebuild = ({ live, rebuild }: Files): number =>
  Math.max(0, 2 * rowsBytes(live) - madeBytes(rebuild)) + VIEW_LIMITS.roomAheadBytes;

/**
 * What has to be free for those that are made of live ones of an earlier version, beside a gateway that serves from these: once, once more for what they
 * have to be written by then, and what is kept for requests.
 */
export const freeBytesToUpcast = (dataFolder: string): number =>
  2 * rowsBytes(viewFilesOf(dataFolder).live) + VIEW_LIMITS.roomAheadBytes + roomKeptBytes(dataFolder);

/** And where one view alone is switched, beyond what is made: the rows of the others come by one transaction, too. */
export const bytesToKeepOthers = ({ live, rebuild }: Files): number =>
  Math.max(rowsBytes(live), rowsBytes(rebuild)) + VIEW_LIMITS.roomAheadBytes;

/** What one that was interrupted has left. */
export const madeBytes = (rebuild: string): number => bytesOf(rebuild) + bytesOf(walOf(rebuild));

/** The WAL of views has pages that the file has too, or will have, and is not cut while it is open: the longer counts. */
const rowsBytes = (path: string): number => Math.max(bytesOf(path), bytesOf(walOf(path)));

const walOf = (path: string): string => `${path}-wal`;
const bytesOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
