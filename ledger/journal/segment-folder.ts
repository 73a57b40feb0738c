import { readdirSync } from 'node:fs';
import { rename, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { makeFolders } from '../folder-owner.ts';
import { syncFolder } from '../sync-folder.ts';
import { LOCK_FILE } from './folder-lock.ts';
import { JournalError } from './journal-error.ts';

const SEGMENT_PATTERN = /^(\d{10})\.journal$/;
const DAMAGED_SUFFIX = '.damaged';
export const RESERVE_FILE = 'reserve';
/** The lock with SQLite's own file beside it, and room that is kept. */
const OTHER_FILES: ReadonlySet<string> = new Set([LOCK_FILE, `${LOCK_FILE}-journal`, RESERVE_FILE]);

/** Where the journal lies in a data folder. */
export const journalFolder = (dataFolder: string): string => join(dataFolder, 'journal');

export const segmentFile = (segment: number): string => `${String(segment).padStart(10, '0')}.journal`;

/** Makes the folder where it is missing, and its entry in its parent durable. */
export function makeFolder(directory: string): void {
  if (makeFolders(directory)) syncFolder(dirname(directory));
}

/** The numbers of the segments in a folder, ascending. @throws JournalError `foreign_file` for any file not ours. */
export function listSegments(directory: string): number[] {
  const numbers: number[] = [];
  for (const file of readdirSync(directory)) {
    const match = SEGMENT_PATTERN.exec(file);
    if (match !== null) numbers.push(Number(match[1]));
    else if (!OTHER_FILES.has(file) && !file.endsWith(DAMAGED_SUFFIX))
      throw new JournalError('foreign_file', `${join(directory, file)} is no file of a journal; move it away`);
  }
  return numbers.sort((left, right) => left - right);
}

/** Whether a folder is that of a journal, by what is in it: one that has nothing of a journal, and something else, is not. */
export function isJournalFolder(directory: string): boolean {
  const files = readdirSync(directory);
  return files.length === 0 || files.some((file) => SEGMENT_PATTERN.test(file) || OTHER_FILES.has(file));
}

/** Takes a segment out of the journal. One with damage in it is kept beside it, because the operator may want to look. */
export async function retireSegment(directory: string, segment: number, isDamaged: boolean): Promise<void> {
  const path = join(directory, segmentFile(segment));
  if (isDamaged) await rename(path, path + DAMAGED_SUFFIX);
  else await unlink(path);
}
