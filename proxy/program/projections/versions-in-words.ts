import { readStanding } from '../../../projections/rebuild/views-facts.ts';

/** Of the views that a file holds; empty where it holds none. @throws Error when it is no file of views */
export const versionsInWords = (path: string): string =>
  Object.entries(readStanding(path)?.versions ?? {})
    .map(([view, version]) => `${view} ${version}`)
    .join(', ');

/** Which views were compared as their rows of an earlier version are read. @param more is said of each */
export const upcastInWords = (upcastFrom: Readonly<Record<string, number>>, more = ''): string =>
  Object.entries(upcastFrom)
    .map(([view, version]) => `; ${view} as its rows of version ${version} are read${more}`)
    .join('');
