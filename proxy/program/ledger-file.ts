import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Configuration } from '../../contracts/configuration.ts';
import { messageOf } from '../../contracts/message-of.ts';
import { assertNotBeingRestored } from '../../ledger/backup/restore-folder.ts';
import { ledgerPlace } from '../../ledger/event-log/ledger-place.ts';
import { makeFolders } from '../../ledger/folder-owner.ts';
import { type FolderNote, readNote } from '../../ledger/identity/folder-note.ts';
import { LedgerLostError, missingLedger } from '../../ledger/identity/ledger-lost.ts';
import { assertOwnPrefix } from '../../ledger/identity/stream-prefix.ts';
import { assertNoBackup, backupAround } from '../../ledger/in-no-backup.ts';
import { journalFolder } from '../../ledger/journal/segment-folder.ts';
import { LEDGER_FILE } from '../../ledger/ledger-file.ts';
import { wantOfDiskOf } from '../../ledger/want-of-disk.ts';
import { wantOfRightsOf } from '../../ledger/want-of-rights.ts';
import { CommandError, EXIT } from './command-error.ts';

/** Only who begins a ledger makes its file, where none was. @throws LedgerLostError; CommandError */
export function assertLedgerThere(configuration: Configuration): void {
  const file = missingFile(configuration);
  if (file === null) return;
  assertNotMissing(file, configuration.data);
  throw noLedger(file);
}

/** The same of a folder that knows of no ledger. @throws CommandError */
export function assertLedgerKnown(configuration: Configuration): void {
  const file = missingFile(configuration);
  if (file !== null && knowledgeOf(configuration.data) === 'none') throw noLedger(file);
}

/** The file of a ledger to be begun, its folder made; null where one is, or no file. @throws as assertLedgerThere */
export function beginLedger(configuration: Configuration): string | null {
  const file = ledgerToBegin(configuration);
  if (file !== null) makeDataFolder(configuration.data);
  return file;
}

/** The same, and makes nothing: for what has to be right before anything is begun. @throws as `beginLedger` */
export function ledgerToBegin(configuration: Configuration): string | null {
  const file = missingFile(configuration);
  if (file !== null) assertNotMissing(file, configuration.data);
  return file;
}

/** Where the ledger's file would be; null where it is, or the ledger is in no file. */
function missingFile({ eventLog, data }: Configuration): string | null {
  // Asked by whoever opens a ledger, and before that.
  assertNotBeingRestored(data);
  assertOutsideBackups(data);
  if (eventLog.kind === 'eventstoredb') assertOwnPrefix({ eventLog, data }, knowledgeOf(data) !== 'none');
  const file = ledgerPlace({ eventLog, data });
  return eventLog.kind !== 'sqlite' || existsSync(file) ? null : file;
}

/** Nor does anybody write within one. A ledger that was put there is no part of it. @throws LedgerLostError; CommandError */
function assertOutsideBackups(data: string): void {
  assertNoBackup(data);
  const backup = backupAround(data);
  if (backup === null) return;
  if (existsSync(join(data, LEDGER_FILE)) || knowledgeOf(data) !== 'none')
    throw new LedgerLostError(
      `${data} is in ${backup}, which is a backup, and stays as it is: move ${data} out of it`,
      'the data folder is in a backup',
    );
  assertNoBackup(backup);
}

function assertNotMissing(file: string, data: string): void {
  const known = knowledgeOf(data);
  if (known !== 'none') throw missingLedger(file, known === 'journal' ? null : known);
}

/** Of which ledger a folder is: by its note; without one a journal says that there was one. */
function knowledgeOf(data: string): FolderNote | 'journal' | 'none' {
  return noteOf(data) ?? (existsSync(journalFolder(data)) ? 'journal' : 'none');
}

const noLedger = (file: string): CommandError =>
  new CommandError(
    `${file}: there is no such ledger; look whether --data or --config is the right one`,
    EXIT.unavailable,
  );

/** @throws CommandError where something else is there, or may not be made */
export function makeDataFolder(data: string): void {
  try {
    makeFolders(data);
  } catch (error) {
    const reason = wantOfRightsOf(error) ?? wantOfDiskOf(error, data) ?? messageOf(error);
    throw new CommandError(`the data folder ${data} cannot be made: ${reason}`, EXIT.unavailable);
  }
}

function noteOf(dataFolder: string): FolderNote | null {
  if (isFile(dataFolder)) throw new CommandError(`${dataFolder}: this is a file, and no data folder`, EXIT.unavailable);
  try {
    return readNote(dataFolder);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new CommandError(`what ${dataFolder} knows of its ledger cannot be read: ${reason}`, EXIT.unavailable);
  }
}

/** @throws CommandError where no folder can have such a name: one that is too long, a link that leads in a circle */
function isFile(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() === false;
  } catch (error) {
    if (wantOfRightsOf(error) !== null) throw error;
    throw new CommandError(`${path} cannot be a data folder: ${messageOf(error)}`, EXIT.unavailable);
  }
}
