import { existsSync } from 'node:fs';
import { asideFolder, withKeptAside } from './aside-folder.ts';
import type { RecoveredRequest } from './journal.ts';
import { readJournal } from './recovery.ts';

/** A segment may go while the journal is read, because it is not needed any more. */
const READS_MAX = 5;

/** The requests that a journal holds, read by a command while its gateway may be running. @throws as `readJournal` */
export function readBesideGateway(directory: string): readonly RecoveredRequest[] {
  for (let read = 1; ; read++) {
    try {
      // What moves aside between the two is in both, never in neither.
      const { recovered } = readJournal(directory);
      const aside = asideFolder(directory);
      return existsSync(aside) ? withKeptAside(recovered, readJournal(aside).recovered) : recovered;
    } catch (error) {
      const isGone = error instanceof Error && 'code' in error && error.code === 'ENOENT';
      if (!isGone || read >= READS_MAX) throw error;
    }
  }
}
