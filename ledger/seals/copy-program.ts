// What writes seals to where `seals.copyTo` says, in a process of its own (`copy-process.ts`). Tells the end of the file as a line
// of JSON, then adds what it is given, and ends once that is on disk. Arguments: file or folder, name in a folder, bytes of the end.
import { existsSync } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { foldersOf } from '../is-within.ts';
import { MANIFEST_FILE } from '../ledger-file.ts';

async function copy([to = '', nameInFolder = '', tailBytes = '']: readonly string[]): Promise<void> {
  const isFolder = await stat(to).then(
    (stats) => stats.isDirectory(),
    () => false,
  );
  const path = isFolder ? join(to, nameInFolder) : to;
  await assertInNoBackup(path);
  const file = await open(path, 'a+');
  const { size } = await file.stat();
  const length = Math.min(size, Number(tailBytes));
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, size - length);
  process.stdout.write(`${JSON.stringify(buffer.toString('utf8', 0, bytesRead))}\n`);
  const lines = await text(process.stdin);
  if (lines !== '') {
    await file.appendFile(lines);
    await file.datasync();
  }
  await file.close();
}

/** What tells a backup takes longer to load than all the rest, and is loaded where there may be one. @throws LedgerLostError */
async function assertInNoBackup(path: string): Promise<void> {
  if (!foldersOf(path).some((folder) => existsSync(join(folder, MANIFEST_FILE)))) return;
  (await import('../in-no-backup.ts')).assertInNoBackup(path);
}

try {
  await copy(process.argv.slice(2));
} catch (error) {
  process.stderr.write(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
