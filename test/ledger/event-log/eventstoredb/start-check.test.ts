import { tmpdir } from 'node:os';
import { inspect } from 'node:util';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { CATALOG_STREAM, NO_STREAM } from '../../../../contracts/ids.ts';
import {
  checkEventStoreDb,
  openEventStoreDbEventLog,
} from '../../../../ledger/event-log/eventstoredb/eventstoredb-event-log.ts';
import { startFakeEventStore } from '../../../eventstoredb/fake-event-store.ts';
import { makeTlsCertificate } from '../../../eventstoredb/tls-certificate.ts';
import { rejectionOf, until } from '../../../eventstoredb/with-client.ts';
import { events, newStream, written } from '../../../fixtures/ledger/shared-log.ts';
import { Lines, open, startWithLog } from './log-under-test.ts';

describe('the start check', () => {
  it('finds nothing to mend in a log that may be used, and leaves nothing in it', async () => {
    const { server, log } = await startWithLog();
    const before = server.events().length;
    expect(await checkEventStoreDb(log)).toEqual([]);
    await written(log, CATALOG_STREAM, NO_STREAM, events(1));
    expect(await checkEventStoreDb(log)).toEqual([]);
    expect(server.events()).toHaveLength(before + 1);
  });

  it('tells that the user may not append', async () => {
    const { server, log } = await startWithLog();
    server.faults.mayAppend = false;
    expect(await checkEventStoreDb(log)).toEqual([expect.stringContaining('may not append')]);
  });

  it('asks again whether the user may append where the answer is lost', async () => {
    const { server, log } = await startWithLog();
    const before = server.events().length;
    server.faults.nextAppends('commit-timeout', 'lose-ack-cancelled', 'cut');
    expect(await checkEventStoreDb(log)).toEqual([]);
    server.faults.nextAppends('commit-timeout', 'access-denied');
    expect(await checkEventStoreDb(log)).toEqual([expect.stringContaining('may not append')]);
    expect(server.events()).toHaveLength(before);
  });

  it('does not ask that for ever, and never says that something may have been done', async () => {
    const { server } = await startWithLog();
    let asked = 0;
    server.faults.onAppend = () => {
      asked++;
      return 'commit-timeout';
    };
    const error = await rejectionOf(open({ connectionString: server.connectionString, waitForServer: true }));
    expect(error).toMatchObject({ kind: 'unavailable', message: expect.stringContaining('each answer was lost') });
    expect(asked).toBe(10);
  });

  it('tells that the user may not read $all', async () => {
    const { server, log } = await startWithLog();
    server.faults.mayReadAll = false;
    expect(await checkEventStoreDb(log)).toEqual([expect.stringContaining('may not read $all')]);
  });

  it.each([
    ['$maxAge', { $maxAge: 3_600 }],
    ['$maxCount', { $maxCount: 5 }],
    ['$tb', { $tb: 1 }],
    ['$maxAge and $maxCount', { $maxAge: 3_600, $maxCount: 5 }],
  ])('tells that %s is set on the catalog, and not that it is on an account', async (names, metadata) => {
    const { server, log } = await startWithLog();
    const account = newStream();
    await written(log, account, NO_STREAM, events(3));
    for (const stream of [CATALOG_STREAM, account]) server.setMetadata(stream, { ...metadata, $acl: {} });
    expect(await checkEventStoreDb(log)).toEqual([
      expect.stringContaining(`${CATALOG_STREAM} has ${names} in its metadata`),
    ]);
  });

  it('takes metadata that hides nothing', async () => {
    const { server, log } = await startWithLog();
    server.setMetadata(CATALOG_STREAM, { $acl: { $d: '$admins' }, purpose: 'models' });
    expect(await checkEventStoreDb(log)).toEqual([]);
  });

  it('fails the opening that waits for it', async () => {
    const { server } = await startWithLog();
    server.setMetadata(CATALOG_STREAM, { $maxCount: 5 });
    const { connectionString } = server;
    expect(await rejectionOf(open({ connectionString, waitForServer: true }))).toMatchObject({
      kind: 'invalid',
      message: expect.stringContaining('$maxCount'),
    });
  });

  it('is made when the server is there, and logged', async () => {
    const { server } = await startWithLog();
    server.setMetadata(CATALOG_STREAM, { $maxCount: 5 });
    await server.kill();
    const lines = new Lines();
    const log = await open({ connectionString: server.connectionString, logger: lines });
    await until(() => lines.warnings.includes('EventStoreDB could not be checked yet'));
    expect(lines.errors).toEqual([]);
    await server.restart();
    expect(await log.startFaults).toEqual([expect.stringContaining('$maxCount')]);
    expect(lines.errors).toEqual([expect.stringContaining('$maxCount')]);
  });

  it('that fails again and again is told once, and so is the client that is made anew, whatever it is for', async () => {
    const lines = new Lines();
    const connectionString = 'esdb://127.0.0.1:1,127.0.0.1:2?tls=false';
    const log = await open({ connectionString, logger: lines, deadlines: { connectMs: 20 } });
    const madeAnew = 'the EventStoreDB client is made anew';
    const unchecked = 'EventStoreDB could not be checked yet';
    const times = (what: string): number => lines.text.split(what).length - 1;
    while (times(madeAnew) < 4) await rejectionOf(log.headPosition());
    await until(() => times(unchecked) > 3);
    expect(new Set(lines.text.match(/"role":"[a-z]+"/g)).size).toBe(2);
    expect(lines.warnings.toSorted()).toEqual([unchecked, madeAnew].toSorted());
  });

  it('is given up when the log is closed', async () => {
    const { server } = await startWithLog();
    await server.kill();
    const log = await open({ connectionString: server.connectionString });
    await log.close();
    expect(await log.startFaults).toEqual([]);
  });
});

it.each([
  ['tls=true&tlsCAFile=/dev/null', 'tlsCAFile: /dev/null is no file, but a device, a pipe or a socket'],
  ['tls=true&tls_ca_file=%2Ftmp%2Fno+such', 'tlsCAFile: /tmp/no+such does not exist'],
  ['tls=false&tlsCAFile=/no/such', null],
  ['user-cert-file=/dev/null&userKeyFile=/no/such', 'userCertFile: /dev/null is no file'],
  [`userKeyFile=${tmpdir()}`, `userKeyFile: ${tmpdir()} is a folder`],
])('of the connection string ?%s a file that cannot be read is told by its field', async (settings, why) => {
  const opening = openEventStoreDbEventLog({ connectionString: `esdb://localhost:1?${settings}` });
  if (why === null) await (await opening).close();
  else
    expect(await rejectionOf(opening)).toMatchObject({
      kind: 'invalid',
      message: expect.stringContaining(`cannot be used: ${why}`),
    });
});

it.each([
  ['maxDiscoverAttempt=3', 'it has no option named "maxDiscoverAttempt" (is maxDiscoverAttempts meant?)'],
  ['tls=true&password=x', 'it has no option named "password"'],
  ['tlsVerifyCert=false', 'tlsVerifyCert=false is not supported'],
  ['tls=true&tls-verify-cert=false', 'tlsVerifyCert=false is not supported'],
])('of the connection string ?%s what the client cannot do is told by its name', async (options, why) => {
  const connectionString = `esdb://localhost:1?${options}`;
  expect(await rejectionOf(openEventStoreDbEventLog({ connectionString }))).toMatchObject({
    kind: 'invalid',
    message: expect.stringContaining(`cannot be used: ${why}`),
  });
});

describe('a secret', () => {
  const SECRET = 'hunter2-hunter2';
  /** What the client writes by itself, to stderr. */
  const clientsWords = () => {
    const warn = vi.spyOn(console, 'warn').mockReturnValue();
    onTestFinished(() => warn.mockRestore());
    return warn.mock.calls;
  };

  it.each([
    `esdb:/proxy:${SECRET}@host:2113`,
    `kurrentdb://proxy:${SECRET}@host:2113`,
    `esdb://proxy:${SECRET}@host:2113?tls=maybe`,
    `esdb://proxy:${SECRET}@`,
    `esdb://${SECRET}@host`,
    `esdb://proxy/${SECRET}@host`,
    `esdb://proxy:p@${SECRET}@host`,
    `esdb://proxy:${SECRET}:x@host`,
    `esdb://proxy:p@host?keepAliveInterval=${SECRET}`,
    `esdb://proxy:${SECRET}@host?tlsCAFile=/no/such/file.pem`,
    `esdb://proxy:${SECRET}@host?tls=true&tlsVerifyCert=false`,
    `esdb://proxy:${SECRET}@host?maxDiscoverAttempt=3`,
    `esdb://proxy:${SECRET}@host?tls&tls=true`,
    `esdb://proxy:p@x?${SECRET}=1@host`,
    `esdb://proxy:p@host?password=${SECRET}`,
  ])('is not told by the refusal of the connection string %s', async (connectionString) => {
    const said = clientsWords();
    const error = await rejectionOf(openEventStoreDbEventLog({ connectionString }));
    expect(error).toMatchObject({ name: 'EventLogError', kind: 'invalid' });
    expect(inspect(error, { depth: 9 })).not.toContain(SECRET);
    expect(said).toEqual([]);
  });

  it.each([
    'tls=false&tlsVerifyCert=false',
    'tls=true&tlsVerifyCert=false&tls_verify_cert=true',
    ' NODE-preference=leader&max_discover_attempts=3&keepAliveInterval=10000&connectionName=a@b/',
    'tls=true&dnsdiscover=true&throwOnAppendFailure=true&defaultDeadline=1000&discoveryInterval=1&keepAliveTimeout=1000',
  ])('is not told of what is opened either, with ?%s', async (options) => {
    const said = clientsWords();
    for (const hosts of ['localhost:1', 'localhost:1,localhost:2'])
      await open({ connectionString: `esdb://proxy:${SECRET}?@${hosts}?${options}` });
    expect(said).toEqual([]);
  });

  it('is not told by errors, log lines and lines of the check when the server refuses it', async () => {
    const tls = makeTlsCertificate();
    const server = await startFakeEventStore({ tls, users: { proxy: 'another' } });
    const connectionString = `esdb://proxy:${SECRET}@localhost:${server.port}?tls=true&tlsCAFile=${tls.certificateFile}`;
    const lines = new Lines();
    const log = await open({ connectionString, logger: lines });
    const faults = await log.startFaults;
    expect(faults).toEqual([
      expect.stringMatching(/^EventStoreDB: the user or the password in the connection string is wrong/),
    ]);
    const error = await rejectionOf(log.append(newStream(), NO_STREAM, events(1)));
    expect(error).toMatchObject({ kind: 'unavailable' });
    expect(`${inspect(error, { depth: 9 })} ${faults.join()} ${lines.text}`).not.toContain(SECRET);
    await log.close();
    await server.stop();
  });
});
