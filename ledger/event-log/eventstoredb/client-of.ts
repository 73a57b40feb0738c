import { EventStoreDBClient } from '@eventstore/db-client';
import { EventLogError } from '../../../contracts/event-log.ts';
import { whyUnreadable } from '../../named-file.ts';
import { EVENTSTOREDB_LIMITS } from './limits.ts';
import { authorityOf } from './server-hosts.ts';

/**
 * The client of a connection string. Several hosts are seeds, whichever scheme stands before them: each is asked for the
 * cluster's nodes until one tells them. The client itself does so for `esdb://a,b,c` alone; of `esdb+discover://a,b,c` it
 * takes the first host, which is for one name with many addresses, and finds nothing while that host is away.
 * @throws EventLogError `invalid` when the connection string is none; it is not told, for it may hold a password
 */
export function clientOf(connectionString: string): EventStoreDBClient {
  if (hasLooseCredentials(connectionString))
    throw unusable('before the host stands user:password@, where an @ or : of theirs is written as %40 or %3A');
  // The client would wait for a pipe for ever, and read a device without end.
  for (const [field, file] of filesIn(connectionString)) {
    const why = whyUnreadable(file);
    if (why !== null) throw unusable(`${field}: ${file} ${why}`);
  }
  try {
    return EventStoreDBClient.connectionString(withSeeds(connectionString.trim()));
  } catch (error) {
    // The client's parser repeats what it did not expect, which may be a part of a password, and its error carries the
    // whole string: neither goes on.
    const isCertificate = error instanceof Error && /^(Failed to load certificate|userCertFile )/.test(error.message);
    throw unusable(isCertificate ? error.message : 'expected esdb://user:password@host:2113?tls=true');
  }
}

/** The client cuts a password at a colon, and takes what follows a first @ for a host, which errors then tell. */
function hasLooseCredentials(connectionString: string): boolean {
  const [credentials = '', ...hosts] = authorityOf(connectionString).split('@');
  return hosts.length > 1 || (hosts.length === 1 && credentials.split(':').length !== 2);
}

function withSeeds(connectionString: string): string {
  const hosts = (authorityOf(connectionString).split('@').at(-1) ?? '').split(',').filter((host) => host !== '');
  if (hosts.length < 2) return connectionString;
  const seeded = connectionString.replace(/^esdb\+discover:/, 'esdb:');
  if (/[?&]gossip[_-]?timeout=/i.test(seeded)) return seeded;
  // By itself the client waits for a seed that accepts and does not answer as long as a call waits for a server.
  return `${seeded}${seeded.includes('?') ? '&' : '?'}gossipTimeout=${EVENTSTOREDB_LIMITS.seedAnswerSeconds}`;
}

/** The files that the client reads. It takes the names of settings in any case, and with _ and - anywhere. */
function filesIn(connectionString: string): (readonly [field: string, file: string])[] {
  // A path has a + as it is.
  const settings = new URLSearchParams((connectionString.split('?')[1] ?? '').replaceAll('+', '%2B'));
  const given = new Map([...settings].map(([name, value]) => [flat(name), value.trim()]));
  const fields = [...(given.get('tls') === 'false' ? [] : ['tlsCAFile']), 'userCertFile', 'userKeyFile'];
  return fields.flatMap((field) => {
    const file = given.get(flat(field));
    return file === undefined ? [] : [[field, file] as const];
  });
}

const flat = (name: string): string => name.trim().toLowerCase().replaceAll(/[_-]/g, '');

const unusable = (reason: string): EventLogError =>
  new EventLogError('invalid', `the connection string of EventStoreDB cannot be used: ${reason}`);
