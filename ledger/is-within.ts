import { existsSync, realpathSync } from 'node:fs';
import { basename, dirname, join, sep } from 'node:path';

/** Whether a path, of which the last parts may not be there yet, leads into a folder, or is that folder; links are followed. */
export const isWithin = (path: string, folder: string): boolean =>
  `${realPath(path)}${sep}`.startsWith(`${realPath(folder)}${sep}`);

/** The folders that a path is in, which need not be there, the nearest first; links are followed. */
export function foldersOf(path: string): string[] {
  const folder = dirname(realPath(path));
  return folder === dirname(folder) ? [folder] : [folder, ...foldersOf(folder)];
}

/** As the system goes there: `..` behind a link leads out of where the link leads, which neither `resolve` nor Node's own `realpathSync` knows. */
const realPath = (path: string): string =>
  existsSync(path) ? realpathSync.native(path) : join(realPath(dirname(path)), basename(path));
