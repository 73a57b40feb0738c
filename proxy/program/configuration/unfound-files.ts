import { resolve } from 'node:path';
import { UNTOLD_FILE } from '../../../contracts/secret-like.ts';
import { isUntold } from '../../../ledger/named-file.ts';

/**
 * Takes out of settings that name a file with a secret each name that may be the secret, as no file has it: backups and later
 * faults tell their names. Whoever needs such a file finds none.
 * @param base what relative paths begin in
 */
export function takeOutUntold(section: object, base: string): void {
  for (const [key, value] of Object.entries(section) as [string, unknown][]) {
    if (typeof value === 'object' && value !== null) takeOutUntold(value, base);
    // Each setting is named so whose value is the name of such a file.
    else if (typeof value === 'string' && /^file$|File$/.test(key) && isUntold(value, resolve(base, value)))
      Object.assign(section, { [key]: UNTOLD_FILE });
  }
}
