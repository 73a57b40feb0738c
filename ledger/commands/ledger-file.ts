import { existsSync, mkdirSync, statSync } from 'node:fs';
import type { Configuration } from '../../contracts/configuration.ts';
import { type FolderNote, readNote } from '../identity/folder-note.ts';
import { missingLedger } from '../identity/ledger-lost.ts';
import { ledgerPlace } from '../identity/ledger-place.ts';
import { journalFolder } from '../journal/segment-folder.ts';
import { CommandError, EXIT } from './command-error.ts';

/**
 * The log's file is made by whoever begins a ledger: by nobody else, nor where there was one.
 * @throws LedgerLostError where the folder knows of one; CommandError
 */
export function refuseMissing({ eventLog, data }: Configuration): void {
  const file = ledgerPlace({ eventLog, data });
  if (eventLog.kind !== 'sqlite' || existsSync(file)) return;
  const known = noteOf(data);
  if (known !== null) throw missingLedger(file, known);
  throw missing(file);
}

/**
 * The same of a folder that knows of no ledger: it has no note of one, nor, from before there were notes, a journal.
 * @throws CommandError
 */
export function refuseUnknown({ eventLog, data }: Configuration): void {
  const file = ledgerPlace({ eventLog, data });
  if (eventLog.kind !== 'sqlite' || existsSync(file)) return;
  if (noteOf(data) === null && !existsSync(journalFolder(data))) throw missing(file);
}

const missing = (file: string): CommandError =>
  new CommandError(
    `${file}: there is no such ledger; look whether --data or --config is the right one`,
    EXIT.unavailable,
  );

/** The file of a ledger that there will be, in a folder that is there; null where there is one, or it is in no file. */
export function beginLedger({ eventLog, data }: Configuration): string | null {
  const file = ledgerPlace({ eventLog, data });
  if (eventLog.kind !== 'sqlite' || existsSync(file)) return null;
  const known = noteOf(data);
  if (known !== null) throw missingLedger(file, known);
  makeDataFolder(data);
  return file;
}

/** @throws CommandError where something else is there, or may not be made */
function makeDataFolder(data: string): void {
  try {
    mkdirSync(data, { recursive: true });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new CommandError(`the data folder ${data} cannot be made: ${reason}`, EXIT.unavailable);
  }
}

function noteOf(dataFolder: string): FolderNote | null {
  if (statSync(dataFolder, { throwIfNoEntry: false })?.isDirectory() === false)
    throw new CommandError(`${dataFolder}: this is a file, and no data folder`, EXIT.unavailable);
  try {
    return readNote(dataFolder);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new CommandError(`what ${dataFolder} knows of its ledger cannot be read: ${reason}`, EXIT.unavailable);
  }
}
