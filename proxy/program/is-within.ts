import { existsSync, realpathSync } from 'node:fs';
import { basename, dirname, join, resolve, sep } from 'node:path';

/** Whether a path, of which the last parts may not be there yet, leads into a folder, or is that folder; links are followed. */
export const isWithin = (path: string, folder: string): boolean =>
  `${realPath(resolve(path))}${sep}`.startsWith(`${realPath(resolve(folder))}${sep}`);

/** The folders that a path is in, which need not be there, the nearest first; links are followed. */
export function foldersOf(path: string): string[] {
  const folder = dirname(realPath(resolve(path)));
  return folder === dirname(folder) ? [folder] : [folder, ...foldersOf(folder)];
}

const realPath = (path: string): string =>
  existsSync(path) ? realpathSync(path) : join(realPath(dirname(path)), basename(path));
