import { existsSync, readlinkSync, realpathSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, sep } from 'node:path';

/** Whether a path, of which the last parts may not be there yet, leads into a folder, or is that folder; links are followed. */
export const isWithin = (path: string, folder: string): boolean =>
  `${realPath(path)}${sep}`.startsWith(`${realPath(folder)}${sep}`);

/** The folders that a path is in, which need not be there, the nearest first; links are followed. */
export function foldersOf(path: string): string[] {
  const folder = dirname(realPath(path));
  return folder === dirname(folder) ? [folder] : [folder, ...foldersOf(folder)];
}

/** A link that leads in a circle leads nowhere. */
const LINKS_MAX = 40;

/**
 * As the system goes there: `..` behind a link leads out of where the link leads, which neither `resolve` nor Node's own `realpathSync` knows;
 * and what is made under the name of a link is made where it leads, also where nothing is there yet.
 */
function realPath(path: string, linksLeft = LINKS_MAX): string {
  if (existsSync(path)) return realpathSync.native(path);
  const folder = realPath(dirname(path), linksLeft);
  const place = join(folder, basename(path));
  const target = linksLeft === 0 ? null : targetOf(place);
  if (target === null) return place;
  return realPath(isAbsolute(target) ? target : `${folder}${sep}${target}`, linksLeft - 1);
}

/** Null where there is no link: what is wrong with a place is said to whoever makes something there, or reads it. */
function targetOf(place: string): string | null {
  try {
    return readlinkSync(place);
  } catch {
    return null;
  }
}
