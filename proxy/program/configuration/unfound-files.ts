import { resolve } from 'node:path';
import { NO_FILE_OF_THAT_NAME } from '../../../contracts/secret-like.ts';
import { isUntold } from '../../../ledger/named-file.ts';

/**
 * The faults of settings that name a file with a secret which is not there, by a name that may be the secret. By every
 * command, also where it reads no such file: backups and later faults tell their names.
 * @param base what relative paths begin in
 */
export function unfoundFiles(section: object, base: string, path: readonly string[] = []): string[] {
  return Object.entries(section).flatMap(([key, value]: [string, unknown]) => {
    const of = [...path, key];
    if (typeof value === 'object' && value !== null) return unfoundFiles(value, base, of);
    // Each setting is named so whose value is the name of such a file.
    if (typeof value !== 'string' || !/^file$|File$/.test(key)) return [];
    return isUntold(value, resolve(base, value)) ? [`${of.join('.')}: ${NO_FILE_OF_THAT_NAME}`] : [];
  });
}
