import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { counted } from '../../contracts/money.ts';
import { checkWhole } from '../event-log/sqlite/check-whole.ts';
import { SQLITE_LIMITS } from '../event-log/sqlite/limits.ts';
import { withLogFile } from '../event-log/sqlite/log-file.ts';
import { readBesideGateway } from '../journal/read-beside-gateway.ts';
import { journalFolder } from '../journal/segment-folder.ts';
import { LEDGER_FILE, MANIFEST_FILE } from '../ledger-file.ts';
import { BackupFault } from './backup-fault.ts';
import { filesIn, readBackedUpFile } from './list-files.ts';
import { lookAtLedger } from './look-at-ledger.ts';
import { type BackupManifest, readManifest } from './manifest.ts';

/**
 * Whether a backup is what its manifest says: each file, to the byte, no other, and in them the ledger, whole and up to its
 * head, and the journal's requests. Nothing is changed or left in it.
 * @throws BackupFault, EventLogError, JournalError; Error of the file system
 */
export async function checkBackup(folder: string): Promise<BackupManifest> {
  const manifest = readManifest(folder);
  const { files, ledger } = manifest;
  for (const file of files) {
    if (!existsSync(join(folder, file.path))) throw new BackupFault(`${join(folder, file.path)} is not there`);
    const found = await readBackedUpFile(folder, file.path);
    if (!isDeepStrictEqual(found, file)) throw changed(folder, file.path);
  }
  const listed = new Set([MANIFEST_FILE, ...files.map(({ path }) => path)]);
  const other = filesIn(folder).find((path) => !listed.has(path));
  if (other !== undefined)
    throw new BackupFault(
      `${join(folder, other)} is none of the backup’s: its manifest has no such file; move it away`,
    );
  await checkContents(folder, manifest);
  if (listed.has(LEDGER_FILE) && !isDeepStrictEqual(await ledgerIn(folder), ledger)) throw changed(folder, LEDGER_FILE);
  return manifest;
}

function changed(folder: string, path: string): BackupFault {
  const file = join(folder, path);
  // Programs of before opened a backup in place, which changes its ledger's file, and none of its events.
  const orCopy =
    path === LEDGER_FILE
      ? `. Where a program of before has opened it, and \`gateway ledger verify --all --offline ${file}\` finds no fault, ` +
        `a copy of ${folder} without ${MANIFEST_FILE} is a data folder`
      : '';
  return new BackupFault(`${file} is not as it was backed up: restore an older one${orCopy}`);
}

async function checkContents(folder: string, { requests }: Pick<BackupManifest, 'requests'>): Promise<void> {
  if (existsSync(join(folder, LEDGER_FILE))) checkWhole(join(folder, LEDGER_FILE), SQLITE_LIMITS.busyMs);
  const found = requestsIn(folder);
  if (found !== requests)
    throw new BackupFault(
      `the journal in ${folder} has ${counted(found, 'request')}, and its manifest says ${requests}`,
    );
}

/** Which ledger the copy in a folder is of. @throws EventLogError, UnreadableEventError */
export const ledgerIn = (folder: string) => withLogFile(join(folder, LEDGER_FILE), lookAtLedger);

/** How many requests the journal in a folder has. @throws as `readBesideGateway` */
export const requestsIn = (folder: string): number => readBesideGateway(journalFolder(folder)).length;
