import querystring from 'node:querystring';
import { EventStoreDBClient } from '@eventstore/db-client';
import { EventLogError } from '../../../contracts/event-log.ts';
import { nearName } from '../../../contracts/near-name.ts';
import { whyUnreadable } from '../../named-file.ts';
import { EVENTSTOREDB_LIMITS } from './limits.ts';
import { partsOf } from './server-hosts.ts';

/**
 * The client of a connection string. Several hosts are seeds, whichever scheme stands before them: each is asked for the
 * cluster's nodes until one tells them. The client itself does so for `esdb://a,b,c` alone; of `esdb+discover://a,b,c` it
 * takes the first host, which is for one name with many addresses, and finds nothing while that host is away.
 * @throws EventLogError `invalid` when the connection string is none; it is not told, for it may hold a password
 */
export function clientOf(connectionString: string): EventStoreDBClient {
  if (hasLooseCredentials(connectionString))
    throw unusable('before the host stands user:password@, where an @ or : of theirs is written as %40 or %3A');
  const options = optionsIn(connectionString);
  // The client would wait for a pipe for ever, and read a device without end.
  for (const [field, file] of filesIn(options)) {
    const why = whyUnreadable(file);
    if (why !== null) throw unusable(`${field}: ${file} ${why}`);
  }
  try {
    return EventStoreDBClient.connectionString(withOptions(connectionString, options));
  } catch (error) {
    // The client's parser repeats what it did not expect, which may be a part of a password, and its error carries the
    // whole string: neither goes on.
    const isCertificate = error instanceof Error && /^(Failed to load certificate|userCertFile )/.test(error.message);
    throw unusable(isCertificate ? error.message : EXPECTED);
  }
}

/** The client cuts a password at a colon, and takes what follows a first @ for a host, which errors then tell. */
function hasLooseCredentials(connectionString: string): boolean {
  const [credentials = '', ...hosts] = partsOf(connectionString).authority.split('@');
  return hosts.length > 1 || (hosts.length === 1 && credentials.split(':').length !== 2);
}

/** The client's options by name, as they are written. */
type Options = ReadonlyMap<string, string>;

const OPTIONS: readonly string[] = [
  ...['tls', 'tlsVerifyCert', 'tlsCAFile', 'userCertFile', 'userKeyFile'],
  ...['nodePreference', 'dnsDiscover', 'maxDiscoverAttempts', 'discoveryInterval', 'gossipTimeout'],
  ...['connectionName', 'defaultDeadline', 'keepAliveInterval', 'keepAliveTimeout', 'throwOnAppendFailure'],
];

/**
 * What the client does not know or cannot do it would leave out, and write the whole string to stderr: it sees nothing of either. It
 * takes the names of options in any case, and with _ and - anywhere.
 */
function optionsIn(connectionString: string): Options {
  const written = partsOf(connectionString).options;
  const options = new Map<string, string>();
  for (const one of written === '' ? [] : written.slice(1).split('&')) {
    const { name = '', value } = /^(?<name>[^=?]+)=(?<value>[^?]+)$/.exec(one)?.groups ?? {};
    const known = OPTIONS.find((option) => flat(option) === flat(name));
    // Behind a further @ it may be a part of a password.
    if (value === undefined || (known === undefined && written.includes('@'))) throw unusable(EXPECTED);
    if (known === undefined) {
      const near = nearName(name.trim(), OPTIONS);
      const meant = near === null ? '' : ` (is ${near} meant?)`;
      throw unusable(`it has no option named ${JSON.stringify(name.trim())}${meant}`);
    }
    options.set(known, value.trim());
  }
  if (options.get('tlsVerifyCert') !== 'false') return options;
  if (options.get('tls') !== 'false')
    throw unusable(
      "tlsVerifyCert=false is not supported, the server's certificate is always verified: leave it out, and name by " +
        'tlsCAFile what the certificate is signed with, where that is no public authority',
    );
  options.delete('tlsVerifyCert');
  return options;
}

function withOptions(connectionString: string, options: Options): string {
  const { scheme, authority } = partsOf(connectionString);
  const hosts = (authority.split('@').at(-1) ?? '').split(',').filter((host) => host !== '');
  const isSeeded = hosts.length > 1;
  const given = [...options].map(([name, value]) => `${name}=${value}`);
  // By itself the client waits for a seed that accepts and does not answer as long as a call waits for a server.
  if (isSeeded && !options.has('gossipTimeout')) given.push(`gossipTimeout=${EVENTSTOREDB_LIMITS.seedAnswerSeconds}`);
  const known = isSeeded ? scheme.replace(/^esdb\+discover:/, 'esdb:') : scheme;
  return `${known}${authority}${given.length === 0 ? '' : `?${given.join('&')}`}`;
}

/** The files that the client reads. */
function filesIn(options: Options): (readonly [field: string, file: string])[] {
  const fields = [...(options.get('tls') === 'false' ? [] : ['tlsCAFile']), 'userCertFile', 'userKeyFile'];
  return fields.flatMap((field) => {
    const file = options.get(field);
    // A path has a + as it is.
    return file === undefined ? [] : [[field, querystring.unescape(file)] as const];
  });
}

const flat = (name: string): string => name.trim().toLowerCase().replaceAll(/[_-]/g, '');

const EXPECTED = 'expected esdb://user:password@host:2113?tls=true';

const unusable = (reason: string): EventLogError =>
  new EventLogError('invalid', `the connection string of EventStoreDB cannot be used: ${reason}`);
