import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { LedgerLostError } from './identity/ledger-lost.ts';
import { foldersOf } from './is-within.ts';
import { LOCK_FILE } from './journal/folder-lock.ts';
import { journalFolder } from './journal/segment-folder.ts';
import { LEDGER_FILE, MANIFEST_FILE } from './ledger-file.ts';
import { textOfFile } from './named-file.ts';

/** Of what is to be made: in a backup, at any depth of it, it would be a file too many. @throws LedgerLostError */
export function assertInNoBackup(path: string): void {
  const backup = backupAround(path);
  if (backup !== null) assertNoBackup(backup);
}

/**
 * Who opens a ledger writes beside its file, and into it, also to read it: a backup would not be what its manifest says any more.
 * @throws LedgerLostError
 */
export function assertNoBackup(folder: string): void {
  if (!isBackup(folder)) return;
  const file = join(resolve(folder), LEDGER_FILE);
  const orLook = existsSync(file)
    ? `; \`gateway ledger verify --offline ${file}\` looks at its ledger where it is`
    : '';
  throw new LedgerLostError(
    `${folder} is a backup, and stays as it is: \`gateway ledger restore ${resolve(folder)} --data FOLDER\` makes a data folder of it${orLook}`,
    'the data folder is a backup',
  );
}

/** The nearest backup that a path leads into; null where there is none. */
export const backupAround = (path: string): string | null => foldersOf(path).find(isBackup) ?? null;

/**
 * Whether a folder is a backup, which whatever opens its ledger would change. One that was made a data folder by hand, and has
 * been served from, has a gateway's lock: it is a backup no more.
 */
const isBackup = (folder: string): boolean =>
  hasManifest(folder) && !existsSync(join(journalFolder(folder), LOCK_FILE));

/** Others name files so, too. One of a later form is ours. */
function hasManifest(folder: string): boolean {
  try {
    return outlineSchema.safeParse(JSON.parse(textOfFile(join(folder, MANIFEST_FILE)))).success;
  } catch {
    return false;
  }
}

const outlineSchema = z.object({
  form: z.int().min(0),
  ledger: z.object(),
  files: z.array(z.object({ path: z.string() })),
});
