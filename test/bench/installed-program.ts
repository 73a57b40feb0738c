import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

const PLACES = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin'];

/** Where a program is; null where it is not installed. The variable of its name in capitals names one that is elsewhere. */
export const installedProgram = (name: string): string | null =>
  [process.env[name.toUpperCase()] ?? '', ...PLACES.map((place) => join(place, name))].find(isExecutable) ?? null;

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    // Not there: the next place.
    return false;
  }
}
