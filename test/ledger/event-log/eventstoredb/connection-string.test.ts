import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { clientOf } from '../../../../ledger/event-log/eventstoredb/client-of.ts';
import { whyUnusable } from '../../../../ledger/event-log/eventstoredb/connection-string.ts';

const SECRET = 'hunter2-hunter2';
const CREDENTIALS = 'before the host stands user:password@';
const HOST = 'its host is none: ';
const HEADER = 'connectionName: expected a text of ASCII without control characters, where a % is written as %25';
const from = (name: string, min: number) =>
  `${name}: expected a whole number, without a unit, from ${min} to 2147483647`;
const OPTIONS = 'its options are ?name=value&name=value';

describe('a connection string', () => {
  it.each([
    'esdb://localhost',
    ' esdb://proxy:p%40%3A@a:2113,b:2113, c.example:65535,?tls=false ',
    'esdb+discover://log_1.example/?tls=true&nodePreference=ReadOnlyReplica&node_preference=read_only_replica',
    'esdb://bücher.example:1/?keepAliveInterval=-1&connectionName=a%20b&tls=false&tlsCAFile=/no/such',
    'esdb://a,b?maxDiscoverAttempts=1&gossipTimeout=1&defaultDeadline=2147483647&discoveryInterval=0&keepAliveTimeout=-1',
  ])('of which a client can be made is not refused: %s', (connectionString) => {
    expect(whyUnusable(connectionString)).toBeNull();
    expect(() => clientOf(connectionString)).not.toThrow();
  });

  it.each([
    [`${SECRET}`, 'it begins with neither esdb:// nor esdb+discover://; expected esdb://user:password@host:2113'],
    [`ESDB://proxy:${SECRET}@host`, 'it begins with neither'],
    [`esdb:///proxy:${SECRET}@host`, 'it begins with neither'],
    ['esdb://', HOST],
    ['', 'it begins with neither'],
    [`esdb://${SECRET}:0`, HOST],
    [`esdb://proxy:p@${SECRET}:65536`, HOST],
    [`esdb://proxy:p@a,,${SECRET}`, HOST],
    [`esdb://proxy:p@a:2113:${SECRET}`, HOST],
    [`esdb://a:${SECRET}`, HOST],
    [`esdb://proxy:p@[::1]:2113`, HOST],
    [`esdb://a/${SECRET}`, HOST],
    [`esdb://:${SECRET}@a`, CREDENTIALS],
    [`esdb://proxy:@a?connectionName=${SECRET}`, CREDENTIALS],
    [`esdb://proxy:100%${SECRET}@a`, `${CREDENTIALS}, where an @, : or % of theirs is written as %40, %3A or %25`],
    [`esdb://a?${SECRET}`, OPTIONS],
    ['esdb://a?tls=true&', OPTIONS],
    ['esdb://a?=true', OPTIONS],
    [`esdb://a?tls=${SECRET}`, 'tls: expected true or false'],
    [`esdb://a?throwOnAppendFailure=${SECRET}`, 'throwOnAppendFailure: expected true or false'],
    ['esdb://a?keep_alive_interval=10s', from('keepAliveInterval', -1)],
    [`esdb://a?nodePreference=${SECRET}`, 'nodePreference: expected leader, follower, readOnlyReplica or random'],
    ...['maxDiscoverAttempts', 'gossipTimeout', 'defaultDeadline'].map((name) => [`esdb://a?${name}=0`, from(name, 1)]),
    ['esdb://a?discoveryInterval=-1', from('discoveryInterval', 0)],
    ...['keepAliveInterval', 'keepAliveTimeout'].map((name) => [`esdb://a?${name}=-2`, from(name, -1)]),
    ['esdb://a?defaultDeadline=2147483648', from('defaultDeadline', 1)],
    ['esdb://a?connectionName=%', HEADER],
    ['esdb://a?connectionName= &tls=true', HEADER],
    [`esdb://a?connectionName=${SECRET}%0A`, HEADER],
    ['esdb://a?connectionName=Büro', HEADER],
    ['esdb://a?connectionName=%C3%BC', HEADER],
    [`esdb://a?tlsCAFile=/no/${SECRET}%00`, 'tlsCAFile: expected a text without control characters, where a % is'],
    [`esdb://a?userCertFile=${import.meta.filename}`, 'a client certificate needs both userCertFile and userKeyFile'],
  ])('that can never be used is refused with what would be right, and not told: %s', (connectionString, why) => {
    expect(whyUnusable(connectionString)?.slice(0, why.length)).toBe(why);
    expect(whyUnusable(connectionString)).not.toContain(SECRET);
  });

  it('that is not refused is one that the client takes', () => {
    const piece = fc.constantFrom(
      ...[
        'esdb',
        '+discover',
        '://',
        ':',
        '//',
        '/',
        '@',
        ',',
        '.',
        '?',
        '&',
        '=',
        '%',
        '%40',
        '[',
        '"',
        ' ',
        'ü',
        '$',
      ],
      ...['proxy:p@', 'host', ':2113', ':0', '-1', '?tls=', 'true', 'false', '&tls=false', '&TLS-verify_cert=false'],
      ...[
        '&nodePreference=',
        'leader',
        '&connectionName=',
        'a@b',
        '&userKeyFile=',
        '&keepAliveTimeout=',
        '-5',
        '7',
        '&x=y',
      ],
      ...['esdb://host', 'esdb+discover://proxy:p@a,b?'],
    );
    const written = fc
      .tuple(
        fc.constantFrom(
          '',
          'esdb://',
          'esdb://proxy:p@',
          'esdb://proxy:%@a',
          'esdb+discover://a,b',
          'esdb://a?tls=false',
        ),
        piece,
      )
      .chain(([begin]) => fc.array(piece, { maxLength: 6 }).map((pieces) => begin + pieces.join('')));
    let usable = 0;
    fc.assert(
      fc.property(written, (connectionString) => {
        if (whyUnusable(connectionString) !== null) return;
        usable++;
        expect(() => clientOf(connectionString)).not.toThrow();
      }),
      { numRuns: 1_000 },
    );
    expect(usable).toBeGreaterThan(50);
  });
});
