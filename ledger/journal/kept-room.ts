import { statSync } from 'node:fs';
import { join } from 'node:path';
import { JOURNAL_BOUNDS } from './limits.ts';
import { journalFolder, RESERVE_FILE } from './segment-folder.ts';

/**
 * What has to be free for a gateway on this data folder: the journal's reserve, as far as it is not there, and the margin beside
 * it. Below that it refuses requests, so nobody who writes beside it may take it.
 */
export function roomKeptBytes(dataFolder: string): number {
  const reserve = statSync(join(journalFolder(dataFolder), RESERVE_FILE), { throwIfNoEntry: false })?.size ?? 0;
  return Math.max(0, JOURNAL_BOUNDS.reserveBytes - reserve) + JOURNAL_BOUNDS.reserveMarginBytes;
}
