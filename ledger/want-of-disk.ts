import { accessSync, constants, existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { shortageOf } from '../contracts/shortage.ts';
import { freeBytesAt, mebibytes } from './room-on-disk.ts';

/** With less SQLite has no room for what it puts beside a file that is read. */
const LEAST_BYTES = 256 * 1024;

/**
 * Why the disk of a file takes nothing more, and the way out: a sentence. Null where it does. To be asked once something has failed, and
 * not for want of rights.
 */
export function wantOfDisk(path: string): string | null {
  const folder = folderOf(path);
  if (isReadOnly(folder))
    return `${folder} is on a disk that is mounted read-only: mount it for writing, or copy the whole folder to another disk`;
  const free = freeIn(folder);
  return free !== null && free < LEAST_BYTES ? makeRoom(folder) : null;
}

/** The same of a fault of the file system, by the path that it names; null for any other fault, or where it names none. */
export function wantOfDiskOf(error: unknown): string | null {
  if (!(error instanceof Error && 'code' in error && 'path' in error)) return null;
  const path = String(error.path);
  if (shortageOf(error) === 'disk') return `${error.message}: ${makeRoom(folderOf(path))}`;
  return error.code === 'EROFS' ? `${error.message}: ${wantOfDisk(path) ?? 'its disk takes nothing'}` : null;
}

/** Where a quota has ended the disk may have room. @param folder that is there */
export function makeRoom(folder: string): string {
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
