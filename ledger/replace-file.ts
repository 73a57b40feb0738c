import { renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { syncFolder } from './sync-folder.ts';

/**
 * Writes a small file whole or not at all, whatever the process or the machine dies of; on disk when it returns. One
 * call at a time for a path. What a call that failed has left beside it is overwritten by the next.
 * @param mode of a file that is new
 * @throws Error of the file system; the file is then what it was, or, where only its folder could not be flushed, new
 */
export function replaceFile(path: string, text: string, mode = 0o666): void {
  const beside = `${path}.new`;
  writeFileSync(beside, text, { flush: true, mode });
  renameSync(beside, path);
  syncFolder(dirname(path));
}
