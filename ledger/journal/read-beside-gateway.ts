import { existsSync } from 'node:fs';
import { asideFolder, withKeptAside } from './aside-folder.ts';
import type { DamagedStretch, RecoveredRequest } from './journal.ts';
import { readJournal } from './recovery.ts';

/** A segment may go while the journal is read, because it is not needed any more. */
const READS_MAX = 5;

interface FoundJournal {
  readonly recovered: readonly RecoveredRequest[];
  /** Of its segments, without what is kept aside. */
  readonly bytes: number;
  readonly damaged: readonly DamagedStretch[];
}

/** The requests that a journal holds, read by a command while its gateway may be running: none where there is no journal. @throws as `readJournal` */
export const readBesideGateway = (directory: string): readonly RecoveredRequest[] =>
  existsSync(directory) ? lookBesideGateway(directory).recovered : [];

/** The same with what they take. */
export function lookBesideGateway(directory: string): FoundJournal {
  for (let read = 1; ; read++) {
    try {
      // What moves aside between the two is in both, never in neither.
      const { recovered, segments, damaged } = readJournal(directory);
      const bytes = segments.reduce((sum, segment) => sum + segment.bytes, 0);
      const aside = asideFolder(directory);
      const all = existsSync(aside) ? withKeptAside(recovered, readJournal(aside).recovered) : recovered;
      return { recovered: all, bytes, damaged };
    } catch (error) {
      const isGone = error instanceof Error && 'code' in error && error.code === 'ENOENT';
      if (!isGone || read >= READS_MAX) throw error;
    }
  }
}
