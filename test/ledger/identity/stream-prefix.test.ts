import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { RecordedEvent } from '../../../contracts/event-log.ts';
import { CATALOG_STREAM, NO_STREAM, type StreamName } from '../../../contracts/ids.ts';
import { checkEventStoreDb } from '../../../ledger/event-log/eventstoredb/eventstoredb-event-log.ts';
import { OwnStreams } from '../../../ledger/event-log/eventstoredb/own-streams.ts';
import { endedLater } from '../../fixtures/ended-later.ts';
import { startTestGateway } from '../../fixtures/gateway/start-gateway.ts';
import { events, newStream, written } from '../../fixtures/ledger/shared-log.ts';
import { runHere } from '../../fixtures/processes/run-here.ts';
import { open, startWithLog } from '../event-log/eventstoredb/log-under-test.ts';

const CLOCK = 'clock-proxy_1' as StreamName;

it('two ledgers with different prefixes on one server, and one without, do not see each other', async () => {
  const { server, log: bare } = await startWithLog();
  const { connectionString } = server;
  const stream = newStream();
  const logs = [
    bare,
    await open({ connectionString, streamPrefix: 'a-' }),
    await open({ connectionString, streamPrefix: 'b-' }),
  ];
  const seen = logs.map((): RecordedEvent[] => []);
  for (const [index, log] of logs.entries()) {
    log.subscribeAll({ after: null, onEvents: (batch) => void seen[index]?.push(...batch) });
    await written(log, stream, NO_STREAM, events(index + 1));
    await written(log, CLOCK, NO_STREAM, events(1));
  }
  expect(
    new Set(
      server
        .events()
        .map((event) => event.stream)
        .filter((name) => !name.startsWith('$')),
    ),
  ).toEqual(new Set(['', 'a-', 'b-'].flatMap((prefix) => [prefix + stream, prefix + CLOCK])));
  for (const [index, log] of logs.entries()) {
    const count = index + 1;
    const [all, own] = [await Array.fromAsync(log.readAll()), await Array.fromAsync(log.readStream(stream))];
    expect(all).toEqual(own);
    expect(own.map((event) => event.stream)).toEqual(Array(count).fill(stream));
    expect(await log.headPosition()).toBe(own.at(-1)?.position);
    await expect.poll(() => seen[index]).toEqual(own);
  }
});

it('what another application has in streams that are named as ours stops nobody who has a prefix', async () => {
  const { server, log } = await startWithLog({ streamPrefix: 'gateway-' });
  const others = await open({ connectionString: server.connectionString });
  await written(others, newStream(), NO_STREAM, events(1));
  expect(await Array.fromAsync(log.readAll())).toEqual([]);
  expect(await log.headPosition()).toBeNull();
  expect(await checkEventStoreDb(log)).toEqual([]);
});

it('the start check names streams as they are on the server', async () => {
  const { server, log } = await startWithLog({ streamPrefix: 'gateway-' });
  server.setMetadata('gateway-catalog', { $maxCount: 5 });
  server.setMetadata(CATALOG_STREAM, { $maxCount: 5 });
  server.faults.mayAppend = false;
  expect(await checkEventStoreDb(log)).toEqual([
    expect.stringMatching(/write access to gateway-account-, gateway-catalog, .* and gateway-ledger streams$/),
    expect.stringMatching(/^EventStoreDB: gateway-catalog has \$maxCount/),
  ]);
});

it.each([
  ['a-account-1', 'account-1'],
  ['a-catalog', 'catalog'],
  ['account-1', null],
  ['b-account-1', null],
  ['a-accounting-1', null],
])('%s is %s to the ledger of the prefix a-', (onServer, name) => {
  expect(new OwnStreams('a-').nameOf(onServer)).toBe(name);
});

it('a data folder whose ledger is under another prefix is refused in one line that names both', async () => {
  const { server, log } = await startWithLog({ streamPrefix: 'a-' });
  const { connectionString } = server;
  const withPrefix = (streamPrefix?: string) => ({
    eventLog: { kind: 'eventstoredb', connectionString, streamPrefix },
  });
  const gateway = endedLater(await startTestGateway({ log, settings: withPrefix('a-') }));
  await gateway.stop();
  const refusals: unknown[] = [];
  for (const prefix of ['b-', undefined])
    for (const command of [['serve'], ['account', 'list'], ['account', 'open', '--email', 'a@example.com']]) {
      const file = join(gateway.data, 'other.json');
      writeFileSync(file, JSON.stringify({ data: gateway.data, listen: { port: 0 }, ...withPrefix(prefix) }));
      refusals.push(await runHere('--config', file, ...command));
    }
  const refused = (says: string) => ({
    exitCode: 3,
    stdout: '',
    stderr: expect.stringMatching(
      new RegExp(
        `^gateway: the ledger of \\S+ has its streams under the prefix "a-", and eventLog.streamPrefix says ${says}: .*\n$`,
      ),
    ),
  });
  const [other, none] = [refused('the prefix "b-"'), refused('no prefix')];
  expect(refusals).toEqual([other, other, other, none, none, none]);
  await expect(startTestGateway({ log, data: gateway.data, settings: withPrefix('b-') })).rejects.toThrow(
    /under the prefix "a-"/,
  );
});
