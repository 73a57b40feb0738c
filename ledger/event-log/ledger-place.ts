import { join } from 'node:path';
import type { Configuration } from '../../contracts/configuration.ts';
import { IDENTITY_LIMITS } from '../identity/limits.ts';
import { LEDGER_FILE } from '../ledger-file.ts';
import { serverHosts } from './eventstoredb/server-hosts.ts';

/** Where the ledger is, as an operator is told: its file, or the server without its credentials, and the streams' prefix. */
export function ledgerPlace({ eventLog, data }: Pick<Configuration, 'eventLog' | 'data'>): string {
  if (eventLog.kind === 'sqlite') return join(data, LEDGER_FILE);
  const { connectionString, streamPrefix } = eventLog;
  const hosts = serverHosts(connectionString);
  const server = hosts.length === 0 ? 'EventStoreDB' : `EventStoreDB at ${hosts.join(', ')}`;
  return streamPrefix === '' ? server : `${server}, its streams under the prefix "${streamPrefix}"`;
}

/** How often something missing is looked for there before it counts as lost: a file has no node that lags behind. */
export const looksFor = ({ eventLog }: Pick<Configuration, 'eventLog'>): number =>
  eventLog.kind === 'sqlite' ? 1 : IDENTITY_LIMITS.looks;
