import { closeSync, constants, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { giveToFolderOwner } from './folder-owner.ts';
import { syncFolder } from './sync-folder.ts';

const { O_WRONLY, O_CREAT, O_TRUNC, O_NOFOLLOW } = constants;
/** A link that somebody has put there is not followed: root may be writing in a folder of theirs. */
const FLAGS = O_WRONLY | O_CREAT | O_TRUNC | (O_NOFOLLOW ?? 0);

/**
 * Writes a small file whole or not at all, whatever the process or the machine dies of; on disk when it returns. One
 * call at a time for a path. Where root writes it, it is its folder's owner's. What a call that was killed has left beside it
 * is overwritten by the next.
 * @param mode of a file that is new
 * @throws Error of the file system; the file is then what it was, or, where only its folder could not be flushed, new
 */
export function replaceFile(path: string, text: string, mode = 0o666): void {
  const beside = `${path}.new`;
  const fd = openSync(beside, FLAGS, mode);
  try {
    writeFileSync(fd, text, { flush: true });
  } catch (error) {
    rmSync(beside, { force: true });
    // A write names no file, and so no disk.
    throw error instanceof Error ? Object.assign(error, { path: beside }) : error;
  } finally {
    closeSync(fd);
  }
  giveToFolderOwner(beside);
  renameSync(beside, path);
  syncFolder(dirname(path));
}
