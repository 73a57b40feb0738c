import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { threadId } from 'node:worker_threads';
import { giveToFolderOwner } from '../../folder-owner.ts';
import { identityForEver, lookAt } from './file-identity.ts';

/** Beside the log's file: which `-wal` belongs to which file, a line each with its device, inode and birth. */
export const RECORD_END = '-pair';

/** `own`: the -wal that lies there is the file's. `foreign`: it is another file's. `unknown`: the record does not say. */
type WalOwner = 'own' | 'foreign' | 'unknown';

/** To whom the -wal beside a file belongs. Some microseconds. @throws Error of the file system */
export function walOwnerOf(path: string): WalOwner {
  const record = readRecord(path);
  const [wal, file] = [lookAt(`${path}-wal`), lookAt(path)];
  if (record === null || wal === null || file === null) return 'unknown';
  const [fileNow, walNow] = [identityForEver(file), identityForEver(wal)];
  if (fileNow === null || walNow === null || walNow !== record.wal) return 'unknown';
  if (fileNow !== record.file) return 'foreign';
  // Another file's bytes may have been copied into it since: it was changed after the -wal was. A checkpoint does that,
  // too, until the next commit.
  return file.ctimeNs > wal.mtimeNs ? 'unknown' : 'own';
}

/** Notes which two files lie there, while a connection is open: till then nobody removes the -wal, so it is true. */
export function recordWal(path: string): void {
  try {
    const text = textOf(path);
    if (text === null || text === textOfRecord(path)) return;
    const beside = `${path}${RECORD_END}.${process.pid}-${threadId}`;
    writeFileSync(beside, text);
    giveToFolderOwner(beside);
    renameSync(beside, path + RECORD_END);
  } catch {
    // A record that is missing, torn or of an earlier -wal proves nothing: the next open counts the events instead.
  }
}

function textOf(path: string): string | null {
  const [wal, file] = [lookAt(`${path}-wal`), lookAt(path)];
  if (wal === null || file === null || !tellsBirths(path)) return null;
  const [fileNow, walNow] = [identityForEver(file), identityForEver(wal)];
  if (fileNow === null || walNow === null) return null;
  return `${basename(path)} ${fileNow}\n${basename(path)}-wal ${walNow}\n`;
}

/** Some systems give the time of the last change for that of the birth; a folder with new files in it shows which. */
function tellsBirths(path: string): boolean {
  const folder = lookAt(dirname(path));
  return folder !== null && folder.birthtimeNs !== folder.ctimeNs;
}

function readRecord(path: string): { readonly file: string; readonly wal: string } | null {
  const [, file, wal] = /^\S+ (\d+:\d+:\d+)\n\S+-wal (\d+:\d+:\d+)\n$/.exec(textOfRecord(path) ?? '') ?? [];
  return file === undefined || wal === undefined ? null : { file, wal };
}

function textOfRecord(path: string): string | null {
  try {
    return readFileSync(path + RECORD_END, 'utf8');
  } catch {
    return null;
  }
}
