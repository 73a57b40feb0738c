import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Configuration } from '../../contracts/configuration.ts';
import { replaceFile } from '../replace-file.ts';
import { LedgerLostError } from './ledger-lost.ts';

/** The file in a data folder that says under which prefix its ledger's streams stand; there is none without a prefix. */
const PREFIX_FILE = 'stream-prefix';

type Place = Pick<Configuration, 'eventLog' | 'data'>;

/**
 * Under another prefix there is another ledger, or none, and what the folder knows would look lost there.
 * @param isKnown whether the folder knows of a ledger
 * @throws LedgerLostError
 */
export function assertOwnPrefix({ eventLog, data }: Place, isKnown: boolean): void {
  if (eventLog.kind !== 'eventstoredb' || !isKnown) return;
  const { streamPrefix } = eventLog;
  const kept = keptPrefix(data);
  if (kept === streamPrefix) return;
  throw new LedgerLostError(
    `the ledger of ${data} has its streams under ${described(kept)}, and eventLog.streamPrefix says ${described(streamPrefix)}: ` +
      'put back the one that it has, or take another data folder',
    "the ledger's streams have another prefix",
  );
}

/** Written before anything else of a ledger is kept in the folder. @throws LedgerLostError as `assertOwnPrefix` */
export function keepPrefix(place: Place, isKnown: boolean): void {
  assertOwnPrefix(place, isKnown);
  const { eventLog, data } = place;
  if (eventLog.kind === 'eventstoredb' && keptPrefix(data) !== eventLog.streamPrefix)
    replaceFile(join(data, PREFIX_FILE), eventLog.streamPrefix);
}

/** From here on the folder's ledger is under this prefix: it has moved there. */
export const movePrefix = (data: string, streamPrefix: string): void => {
  if (keptPrefix(data) !== streamPrefix) replaceFile(join(data, PREFIX_FILE), streamPrefix);
};

function keptPrefix(data: string): string {
  try {
    return readFileSync(join(data, PREFIX_FILE), 'utf8').trim();
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return '';
    throw error;
  }
}

const described = (prefix: string): string => (prefix === '' ? 'no prefix' : `the prefix "${prefix}"`);
