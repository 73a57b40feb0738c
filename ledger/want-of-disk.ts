import { accessSync, constants, existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { shortageOf } from '../contracts/shortage.ts';
import { freeBytesAt, mebibytes } from './room-on-disk.ts';

/** With less SQLite has no room for what it puts beside a file that is read. */
const LEAST_BYTES = 256 * 1024;

/** Whose path it is: of the folder of a ledger, or of what somebody has named to be made, and can name elsewhere. */
export type PathUse = 'data' | 'named';

const READ_ONLY_WAY_OUT: Readonly<Record<PathUse, string>> = {
  // Two copies that both go on would each be granted on, and neither be the ledger.
  data:
    'mount it for writing; or stop its gateway, copy the whole folder to another disk, and from then on use that copy alone. ' +
    '`gateway ledger verify --all --offline FILE` reads a ledger where it is',
  named: 'mount it for writing, or name another place',
};

/**
 * Why the disk of a file takes nothing more, and the way out: a sentence. Null where it does. To be asked once something has failed, and
 * not for want of rights.
 */
export function wantOfDisk(path: string, use: PathUse = 'data'): string | null {
  const folder = folderOf(path);
  if (isReadOnly(folder)) return `${folder} is on a disk that is mounted read-only: ${READ_ONLY_WAY_OUT[use]}`;
  const free = freeIn(folder);
  return free !== null && free < LEAST_BYTES ? makeRoom(folder) : null;
}

/**
 * The same of a fault of the file system, by the path that it names (a write to a file that is open names none), or else by the one that
 * was named to be made; null for any other fault, or where there is no path.
 */
export function wantOfDiskOf(error: unknown, named: string | null = null): string | null {
  const path = pathOf(error) ?? named;
  if (!(error instanceof Error) || path === null) return null;
  const use = named === null ? 'data' : 'named';
  if (shortageOf(error) === 'disk') return `${error.message}: ${makeRoom(folderOf(path))}`;
  return 'code' in error && error.code === 'EROFS'
    ? `${error.message}: ${wantOfDisk(path, use) ?? 'its disk takes nothing'}`
    : null;
}

/** What was to be written, where two are named. */
function pathOf(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  if ('dest' in error) return String(error.dest);
  return 'path' in error ? String(error.path) : null;
}

/** Where a quota has ended the disk may have room. @param folder that is there; null where it is not known */
export function makeRoom(folder: string | null): string {
  if (folder === null) return 'make room on the disk that this writes to, or raise the quota of who runs it';
  const free = freeIn(folder);
  return `make room on the disk of ${folder}${free === null ? '' : `, which has ${mebibytes(free)} free`}`;
}

/** Null where the system does not tell: what has failed is what is told. */
function freeIn(folder: string): number | null {
  try {
    return freeBytesAt(folder);
  } catch {
    return null;
  }
}

/** The nearest that is there. */
export function folderOf(path: string): string {
  const folder = dirname(path);
  return existsSync(folder) || folder === path ? folder : folderOf(folder);
}

function isReadOnly(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return false;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EROFS';
  }
}
