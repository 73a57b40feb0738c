import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { LedgerIdentity } from '../../contracts/ledger-identity.ts';
import { replaceFile } from '../../ledger/replace-file.ts';
import type { AllToDoAgain } from './all-to-do-again.ts';

/** It names people. */
const MODE = 0o600;

const fileOf = (dataFolder: string, generation: number): string =>
  join(dataFolder, `to-do-again.generation-${generation}.json`);

/** For people; on disk when it returns its path, whole or not at all. @throws Error of the file system */
export function writeToDoAgain(dataFolder: string, generation: number, toDoAgain: AllToDoAgain): string {
  const file = fileOf(dataFolder, generation);
  replaceFile(file, `${JSON.stringify({ generation, ...toDoAgain }, null, 2)}\n`, MODE);
  return file;
}

/** The file of the loss that has begun a generation; null where there is none. */
export function toDoAgainFile(dataFolder: string, { generation }: LedgerIdentity): string | null {
  const file = fileOf(dataFolder, generation);
  return existsSync(file) ? file : null;
}
