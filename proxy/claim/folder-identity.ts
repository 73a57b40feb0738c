import { readFileSync, statSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { LOCK_FILE } from '../../ledger/journal/folder-lock.ts';

/**
 * Which folder this is: the file of its lock, on which device, under which running kernel. While that is the same and
 * the lock is held, no earlier process of the folder is alive. A copy, a restored backup or a cloned disk has another
 * one, and so has a folder after its machine was started again.
 */
export function folderIdentity(journalFolder: string): string {
  const { dev, ino } = statSync(join(journalFolder, LOCK_FILE), { bigint: true });
  return `${bootId()}:${dev}:${ino}`;
}

/**
 * Whether it is the same file on the same device, under whichever kernel: then whatever ran in it before has ended, by the
 * lock or with its machine. A disk that was cloned as a whole cannot be told from one whose machine was started again.
 */
export const isSamePlace = (one: string, other: string): boolean => placeOf(one) === placeOf(other);

const placeOf = (folder: string): string => folder.slice(folder.indexOf(':') + 1);

function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    // Not on Linux, where one machine is told from another by its name alone.
    return hostname();
  }
}
