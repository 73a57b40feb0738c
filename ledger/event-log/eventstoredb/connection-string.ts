import querystring from 'node:querystring';
import { nearName } from '../../../contracts/near-name.ts';
import { NO_FILE_OF_THAT_NAME } from '../../../contracts/secret-like.ts';
import { isUntold, whyUnreadable } from '../../named-file.ts';
import { partsOf } from './server-hosts.ts';

/** The client's options by name, as they are written. */
export type ConnectionOptions = ReadonlyMap<string, string>;

/**
 * Why no client can be made of a connection string, whatever its server does, and what would be right; null where one can.
 * Nothing of it is told that may be a part of a password. Loads nothing of the client, for whoever only reads a
 * configuration: what the client refuses is refused here, and what it would misread or leave out is, too.
 */
export function whyUnusable(connectionString: string): string | null {
  const { scheme, authority } = partsOf(connectionString);
  if (scheme !== 'esdb://' && scheme !== 'esdb+discover://')
    return `it begins with neither esdb:// nor esdb+discover://; ${EXPECTED}`;
  return whyNoAuthority(authority) ?? whyNoOptions(connectionString) ?? whyNoFiles(connectionOptions(connectionString));
}

export const EXPECTED = 'expected esdb://user:password@host:2113?tls=true';

/** The client takes their names in any case, and with _ and - anywhere. @param connectionString one that can be used */
export function connectionOptions(connectionString: string): ConnectionOptions {
  const options = new Map<string, string>();
  for (const { known, value } of writtenOptions(connectionString)) if (known !== null) options.set(known, value);
  // Without TLS it says nothing, and the client would write the whole string to stderr.
  if (options.get('tlsVerifyCert') === 'false') options.delete('tlsVerifyCert');
  return options;
}

/** The client cuts a password at a colon, and takes what follows a first @ for a host, which errors then tell. */
function whyNoAuthority(authority: string): string | null {
  const [last = '', ...before] = authority.split('@').toReversed();
  const [credentials = null, ...more] = before;
  if (more.length > 0 || (credentials !== null && !(CREDENTIALS.test(credentials) && isDecodable(credentials))))
    return 'before the host stands user:password@, where an @, : or % of theirs is written as %40, %3A or %25';
  const hosts = last.replace(/,$/, '').split(',');
  if (hosts.every((host) => isHost(host.trim()))) return null;
  return `its host is none: a name or an IPv4 address, with a port of 1 to 65535 or without, several with a comma between; ${EXPECTED}`;
}

const CREDENTIALS = /^[^:]+:[^:]+$/;
/** Without the characters at which the client ends a host. */
const HOST = /^[^$+!?*'(),;[\]{}|"%~#<>=&@/\s:]+(?::(?<port>\d{1,5}))?$/;

function isHost(host: string): boolean {
  const match = HOST.exec(host);
  const port = Number(match?.groups?.port ?? 1);
  return match !== null && port >= 1 && port <= 65_535;
}

/** What each option's value has to be. */
const OPTIONS: ReadonlyMap<string, ValueKind> = new Map([
  ...['tls', 'tlsVerifyCert', 'dnsDiscover', 'throwOnAppendFailure'].map((name) => [name, 'boolean'] as const),
  ...['tlsCAFile', 'userCertFile', 'userKeyFile'].map((name) => [name, 'text'] as const),
  ['connectionName', 'header'],
  ...['maxDiscoverAttempts', 'gossipTimeout', 'defaultDeadline'].map((name) => [name, 'count'] as const),
  ['discoveryInterval', 'pause'],
  ...['keepAliveInterval', 'keepAliveTimeout'].map((name) => [name, 'timer'] as const),
  ['nodePreference', 'preference'],
]);

type ValueKind = 'boolean' | 'count' | 'header' | 'pause' | 'preference' | 'text' | 'timer';

interface ValueRule {
  readonly is: (value: string) => boolean;
  readonly expected: string;
}

/** Of 10s the client would take the 10, whatever was meant; above what a timer can wait none waits at all. */
const wholeNumber = (min: number): ValueRule => ({
  is: (value) => /^-?\d+$/.test(value) && Number(value) >= min && Number(value) <= TIMER_MAX_MS,
  expected: `a whole number, without a unit, from ${min} to ${TIMER_MAX_MS}`,
});

const TIMER_MAX_MS = 2 ** 31 - 1;

const VALUES: Readonly<Record<ValueKind, ValueRule>> = {
  boolean: { is: (value) => value === 'true' || value === 'false', expected: 'true or false' },
  // With none of it nothing is asked, or waited for.
  count: wholeNumber(1),
  // It goes with every call, as a header of it.
  header: {
    is: (value) => isDecodable(value) && /^[ -~]+$/.test(decodeURIComponent(value)),
    expected: 'a text of ASCII without control characters, where a % is written as %25',
  },
  pause: wholeNumber(0),
  preference: {
    is: (value) => ['leader', 'follower', 'readonlyreplica', 'random'].includes(flat(value)),
    expected: 'leader, follower, readOnlyReplica or random',
  },
  text: {
    is: (value) => isDecodable(value) && /^\P{Cc}+$/u.test(decodeURIComponent(value)),
    expected: 'a text without control characters, where a % is written as %25',
  },
  // The client takes -1 for none.
  timer: wholeNumber(-1),
};

interface WrittenOption {
  readonly name: string;
  /** Null where the client has no such option. */
  readonly known: string | null;
  /** Empty where it is not written as name=value. */
  readonly value: string;
}

function writtenOptions(connectionString: string): WrittenOption[] {
  const written = partsOf(connectionString).options;
  return (written === '' ? [] : written.slice(1).split('&')).map((one) => {
    const { name = '', value = '' } = /^(?<name>[^=?]+)=(?<value>[^?]+)$/.exec(one)?.groups ?? {};
    const known = [...OPTIONS.keys()].find((option) => flat(option) === flat(name)) ?? null;
    return { name: name.trim(), known, value: value.trim() };
  });
}

/** What the client does not know or cannot do it would leave out, and write the whole string to stderr: it sees nothing of either. */
function whyNoOptions(connectionString: string): string | null {
  const isInDoubt = partsOf(connectionString).options.includes('@');
  for (const { name, known, value } of writtenOptions(connectionString)) {
    // Behind a further @ a name may be a part of a password.
    if (name === '' || (known === null && isInDoubt)) return `its options are ?name=value&name=value; ${EXPECTED}`;
    if (known === null) {
      const near = nearName(name, [...OPTIONS.keys()]);
      const meant = near === null ? '' : ` (is ${near} meant?)`;
      return `it has no option named ${JSON.stringify(name)}${meant}`;
    }
    const { is, expected } = VALUES[OPTIONS.get(known) ?? 'text'];
    if (!is(value)) return `${known}: expected ${expected}`;
  }
  const given = new Map(writtenOptions(connectionString).map(({ known, value }) => [known, value]));
  if (given.get('tlsVerifyCert') === 'false' && given.get('tls') !== 'false')
    return (
      "tlsVerifyCert=false is not supported, the server's certificate is always verified: leave it out, and name by " +
      'tlsCAFile what the certificate is signed with, where that is no public authority'
    );
  return null;
}

/** Of the files that the client reads. It would wait for a pipe for ever, and read a device without end. */
function whyNoFiles(options: ConnectionOptions): string | null {
  const fields = [...(options.get('tls') === 'false' ? [] : ['tlsCAFile']), 'userCertFile', 'userKeyFile'];
  for (const field of fields) {
    const value = options.get(field);
    if (value === undefined) continue;
    // A path has a + as it is.
    const file = querystring.unescape(value);
    const why = whyUnreadable(file);
    if (why !== null) return `${field}: ${isUntold(file, file) ? NO_FILE_OF_THAT_NAME : `${file} ${why}`}`;
  }
  if (options.has('userCertFile') !== options.has('userKeyFile'))
    return 'a client certificate needs both userCertFile and userKeyFile';
  return null;
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

const flat = (name: string): string => name.trim().toLowerCase().replaceAll(/[_-]/g, '');
