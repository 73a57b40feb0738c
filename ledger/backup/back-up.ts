import { copyFileSync, existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { backUpFile } from '../event-log/sqlite/back-up-file.ts';
import { journalFolder } from '../journal/segment-folder.ts';
import { LEDGER_FILE } from '../ledger-file.ts';
import { checkBackup, ledgerIn, requestsIn } from './check-backup.ts';
import { copyJournal } from './copy-journal.ts';
import { filesIn, readBackedUpFile } from './list-files.ts';
import { type BackedUpLedger, type BackupManifest, writeManifest } from './manifest.ts';

export interface BackupSource {
  readonly data: string;
  /** Small files of the data folder, by their names, which are copied as they are. */
  readonly isKept: (name: string) => boolean;
  /** Where the ledger is a file of this machine; otherwise its server keeps it, and this is asked what it has. */
  readonly ledger: { readonly file: string } | { readonly look: () => Promise<BackedUpLedger> };
  /** Other SQLite files of the data folder, by their names, which their gateway may be writing to. */
  readonly databases: readonly string[];
  readonly clock: () => number;
  /** What the manifest says besides. */
  readonly says: Pick<BackupManifest, 'program' | 'eventLog' | 'where' | 'keys' | 'leftOut'>;
  /** How many pages more are copied, of how many. */
  readonly onPages: (pages: number, of: number) => void;
}

/**
 * Fills a folder with a backup of a data folder on which a gateway may be running: what is noted beside the ledger first,
 * then the journal, then the ledger. So of no request is more known than the ledger has, and each that had ended when it
 * began is in the journal's copy or in the ledger's, or in both. Verified before it returns.
 *
 * @throws EventLogError, JournalError, BackupFault; Error of the file system
 */
export async function backUp(folder: string, source: BackupSource): Promise<BackupManifest> {
  const { data, ledger, clock, says, onPages } = source;
  const begunAt = timeBy(clock);
  for (const name of readdirSync(data).filter(source.isKept)) copyFileSync(join(data, name), join(folder, name));
  if (existsSync(journalFolder(data))) copyJournal(journalFolder(data), journalFolder(folder));
  for (const name of source.databases)
    if (existsSync(join(data, name))) await backUpFile(join(data, name), join(folder, name), onPages);
  if ('file' in ledger) await backUpFile(ledger.file, join(folder, LEDGER_FILE), onPages);
  const looked = 'file' in ledger ? await ledgerIn(folder) : await ledger.look();
  const files = await Array.fromAsync(filesIn(folder), (path) => readBackedUpFile(folder, path));
  const { program, eventLog, where, keys, leftOut } = says;
  writeManifest(folder, {
    ...{ form: 1, program, node: process.version, begunAt, endedAt: timeBy(clock), eventLog, where },
    ...{ ledger: looked, requests: requestsIn(folder), files, keys, leftOut },
  });
  return checkBackup(folder);
}

const timeBy = (clock: () => number): string => new Date(clock()).toISOString();
