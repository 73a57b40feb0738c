import { basename, dirname, isAbsolute, join } from 'node:path';
import type { Configuration } from '../../contracts/configuration.ts';
import { IDENTITY_LIMITS } from '../identity/limits.ts';
import { serverHosts } from './eventstoredb/server-hosts.ts';

/** The embedded ledger's file in a data folder, and its copy in a backup. */
export const LEDGER_FILE = 'ledger.db';

/** Where the ledger is, as an operator is told: its file, or the server without its credentials, and the streams' prefix. */
export function ledgerPlace({ eventLog, data }: Pick<Configuration, 'eventLog' | 'data'>): string {
  if (eventLog.kind === 'sqlite') return join(data, LEDGER_FILE);
  const { connectionString, streamPrefix } = eventLog;
  const hosts = serverHosts(connectionString);
  const server = hosts.length === 0 ? 'EventStoreDB' : `EventStoreDB at ${hosts.join(', ')}`;
  return streamPrefix === '' ? server : `${server}, its streams under the prefix "${streamPrefix}"`;
}

/**
 * What of the configuration has to name such a place, so that a gateway serves from it. @param place an absolute path, or no file:
 * a file is found by its folder alone, and under one name
 */
export function namedInConfiguration(place: string): string {
  if (!isAbsolute(place)) return 'that place in eventLog of the configuration';
  const named = `eventLog: { kind: sqlite } in the configuration, and ${dirname(place)} as the data folder (data, or --data)`;
  return basename(place) === LEDGER_FILE ? named : `${named}, with that file called ${LEDGER_FILE}`;
}

/** How often something missing is looked for there before it counts as lost: a file has no node that lags behind. */
export const looksFor = ({ eventLog }: Pick<Configuration, 'eventLog'>): number =>
  eventLog.kind === 'sqlite' ? 1 : IDENTITY_LIMITS.looks;
