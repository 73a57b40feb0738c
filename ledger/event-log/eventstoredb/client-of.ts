import { EventStoreDBClient } from '@eventstore/db-client';
import { EventLogError } from '../../../contracts/event-log.ts';
import { connectionOptions, EXPECTED, whyUnusable } from './connection-string.ts';
import { EVENTSTOREDB_LIMITS } from './limits.ts';
import { partsOf } from './server-hosts.ts';

/**
 * The client of a connection string. Several hosts are seeds, whichever scheme stands before them: each is asked for the
 * cluster's nodes until one tells them. The client itself does so for `esdb://a,b,c` alone; of `esdb+discover://a,b,c` it
 * takes the first host, which is for one name with many addresses, and finds nothing while that host is away.
 * @throws EventLogError `invalid` when the connection string is none; it is not told, for it may hold a password
 */
export function clientOf(connectionString: string): EventStoreDBClient {
  const why = whyUnusable(connectionString);
  if (why !== null) throw unusable(why);
  try {
    return EventStoreDBClient.connectionString(asSeeded(connectionString));
  } catch {
    // The client's parser repeats what it did not expect, which may be a part of a password, and its error carries the
    // whole string: neither goes on.
    throw unusable(EXPECTED);
  }
}

function asSeeded(connectionString: string): string {
  const { scheme, authority } = partsOf(connectionString);
  const options = connectionOptions(connectionString);
  const hosts = (authority.split('@').at(-1) ?? '').split(',').filter((host) => host !== '');
  const isSeeded = hosts.length > 1;
  const given = [...options].map(([name, value]) => `${name}=${value}`);
  // By itself the client waits for a seed that accepts and does not answer as long as a call waits for a server.
  if (isSeeded && !options.has('gossipTimeout')) given.push(`gossipTimeout=${EVENTSTOREDB_LIMITS.seedAnswerSeconds}`);
  const known = isSeeded ? scheme.replace(/^esdb\+discover:/, 'esdb:') : scheme;
  return `${known}${authority}${given.length === 0 ? '' : `?${given.join('&')}`}`;
}

const unusable = (reason: string): EventLogError =>
  new EventLogError('invalid', `the connection string of EventStoreDB cannot be used: ${reason}`);
