import { copyFileSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { asideFolder } from '../journal/aside-folder.ts';
import { listSegments, segmentFile } from '../journal/segment-folder.ts';

/** A segment may go while the journal is copied, because it is not needed any more. */
const COPIES_MAX = 5;

/**
 * Copies a journal while its gateway may be running, as `readBesideGateway` reads one: segments are copied oldest first, so
 * that what compaction moves meanwhile is in the copy twice and never missing. What is written meanwhile may be cut short,
 * as by a crash. Its lock and its reserve are nobody else's.
 */
export function copyJournal(directory: string, to: string): void {
  for (let copy = 1; ; copy++) {
    try {
      copySegments(directory, to);
      if (existsSync(asideFolder(directory))) copySegments(asideFolder(directory), asideFolder(to));
      return;
    } catch (error) {
      const isGone = error instanceof Error && 'code' in error && error.code === 'ENOENT';
      if (!isGone || copy >= COPIES_MAX) throw error;
      for (const begun of [to, asideFolder(to)]) rmSync(begun, { recursive: true, force: true });
    }
  }
}

function copySegments(directory: string, to: string): void {
  mkdirSync(to, { mode: 0o700 });
  for (const number of listSegments(directory))
    copyFileSync(join(directory, segmentFile(number)), join(to, segmentFile(number)));
}
