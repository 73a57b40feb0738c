import { copyFileSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { BackupFault } from './backup-fault.ts';
import { readBackedUpFile } from './list-files.ts';
import type { BackedUpFile, BackupManifest } from './manifest.ts';

/** Puts the files of a backup, which has been checked, into a folder. @throws BackupFault; Error of the file system */
export async function copyBackup(
  backup: string,
  to: string,
  { files }: BackupManifest,
  onFile: (file: BackedUpFile) => void,
): Promise<void> {
  for (const file of files) {
    mkdirSync(dirname(join(to, file.path)), { recursive: true, mode: 0o700 });
    copyFileSync(join(backup, file.path), join(to, file.path));
    if (!isDeepStrictEqual(await readBackedUpFile(to, file.path), file))
      throw new BackupFault(
        `${join(to, file.path)} did not become what ${join(backup, file.path)} is: look at both disks`,
      );
    onFile(file);
  }
}
