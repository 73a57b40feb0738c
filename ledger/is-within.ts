import { existsSync, readlinkSync, realpathSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, sep } from 'node:path';

/** Whether a path, of which the last parts may not be there yet, leads into a folder, or is that folder; links are followed. */
export const isWithin = (path: string, folder: string): boolean =>
  `${realPath(path)}${sep}`.startsWith(`${realPath(folder)}${sep}`);

/** The folders that a path is in, which need not be there, the nearest first; links are followed. */
export function foldersOf(path: string): string[] {
  const folders: string[] = [];
  let folder = dirname(realPath(path));
  for (; folder !== dirname(folder); folder = dirname(folder)) folders.push(folder);
  return [...folders, folder];
}

/** A link that leads in a circle leads nowhere. */
const LINKS_MAX = 40;

/**
 * As the system goes there: `..` behind a link leads out of where the link leads, which neither `resolve` nor Node's own `realpathSync` knows;
 * and what is made under the name of a link is made where it leads, also where nothing is there yet.
 */
function realPath(path: string, linksLeft = LINKS_MAX): string {
  let there = path;
  const missing: string[] = [];
  for (; !existsSync(there); there = dirname(there)) missing.push(basename(there));
  let place = realpathSync.native(there);
  let left = linksLeft;
  for (const name of missing.reverse()) {
    const folder = place;
    place = join(folder, name);
    const target = left === 0 ? null : targetOf(place);
    if (target === null) continue;
    left -= 1;
    place = realPath(isAbsolute(target) ? target : `${folder}${sep}${target}`, left);
  }
  return place;
}

/** Null where there is no link: what is wrong with a place is said to whoever makes something there, or reads it. */
function targetOf(place: string): string | null {
  try {
    return readlinkSync(place);
  } catch {
    return null;
  }
}
