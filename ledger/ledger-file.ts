import { basename, dirname, isAbsolute } from 'node:path';

/** The embedded ledger's file in a data folder, and its copy in a backup. */
export const LEDGER_FILE = 'ledger.db';

/** In a backup, and what says of a folder that it is one. */
export const MANIFEST_FILE = 'manifest.json';

/**
 * What of the configuration has to name a place of the ledger, so that a gateway serves from it. @param place an absolute path, or no
 * file: a file is found by its folder alone, and under one name
 */
export function namedInConfiguration(place: string): string {
  if (!isAbsolute(place)) return 'that place in eventLog of the configuration';
  const named = `eventLog: { kind: sqlite } in the configuration, and ${dirname(place)} as the data folder (data, or --data)`;
  return basename(place) === LEDGER_FILE ? named : `${named}, with that file called ${LEDGER_FILE}`;
}
