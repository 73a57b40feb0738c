import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import pino from 'pino';
import { beforeAll, describe, expect, it } from 'vitest';
import type { EventLog } from '../../contracts/event-log.ts';
import { accountId, grantId } from '../../contracts/ids.ts';
import { microUsd } from '../../contracts/money.ts';
import { openSqliteEventLog } from '../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { journalFolder } from '../../ledger/journal/segment-folder.ts';
import { runAccountCommand } from '../../proxy/program/accounts/run-account-command.ts';
import type { CommandContext } from '../../proxy/program/command-context.ts';
import { readConfiguration } from '../../proxy/program/configuration/read-configuration.ts';
import { catalogAtStart, readConfiguredCatalog } from '../../proxy/program/serve/catalog-at-start.ts';
import { openDemoAccount } from '../../proxy/program/serve/first-run.ts';
import { Gateway } from '../../proxy/program/serve/gateway.ts';
import { banner, readyLine } from '../../proxy/program/serve/ready-words.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { freePort } from '../fixtures/processes/processes.ts';
import { runHere } from '../fixtures/processes/run-here.ts';
import { PROGRAM, stop } from '../fixtures/processes/run-program.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const typesOf = (log: EventLog): Promise<string[]> => Array.fromAsync(log.readAll(), ({ type }) => type);

describe('a start that cannot listen', () => {
  let takenPort = 0;
  beforeAll(async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    takenPort = (server.address() as AddressInfo).port;
    return () => new Promise((resolve) => server.close(resolve));
  });

  it.each([
    [
      'a taken port',
      () => ['--port', String(takenPort)],
      4,
      () => `127.0.0.1:${takenPort} is taken; choose another port with --port or listen.port`,
    ],
    [
      'an address of another machine',
      () => ['--host', '192.0.2.1', '--port', '0'],
      2,
      () => '192.0.2.1 is no address of this machine; choose another with --host or listen.host',
    ],
  ])('%s is told in one line, and begins nothing', async (_title, options, exitCode, why) => {
    const data = join(temporaryFolder(), 'data');
    expect(await runHere('serve', '--data', data, ...options())).toEqual({
      exitCode,
      stdout: '',
      stderr: `gateway: ${why()}\n`,
    });
    expect(existsSync(data)).toBe(false);
  });

  it.each([
    ['--port', '99999', /expected a port: a whole number of at most 65535/],
    ['--port', '-1', /expected a whole number/],
    ['--host', '', /expected an address or a name/],
    ['--host', '  ', /expected an address or a name/],
  ])('%s %j is wrong usage, and begins nothing', async (option, value, why) => {
    const data = join(temporaryFolder(), 'data');
    const run = await runHere('serve', '--data', data, `${option}=${value}`);
    expect(run).toMatchObject({ exitCode: 2, stderr: expect.stringMatching(why) });
    expect(run.stderr).not.toMatch(/^ +at /m);
    expect(existsSync(data)).toBe(false);
  });

  it.each(['taken by another program', 'its own, too'])('a metrics port that is %s is told likewise', async (by) => {
    const folder = temporaryFolder();
    const data = join(folder, 'data');
    const file = join(folder, 'gateway.json');
    // Nothing but the metrics server is to find it taken: the other port is free a moment before.
    const port = by.startsWith('taken') ? takenPort : await freePort();
    writeFileSync(file, JSON.stringify({ data, metrics: { serve: { port } } }));
    const own = by.startsWith('taken') ? 0 : port;
    expect(await runHere('serve', '--config', file, '--port', String(own))).toEqual({
      exitCode: 4,
      stdout: '',
      stderr: `gateway: 127.0.0.1:${port} is taken; choose another port with metrics.serve.port\n`,
    });
    expect(existsSync(data)).toBe(false);
  });

  it('spends no key of the demo account where a gateway has run before', async () => {
    const data = temporaryFolder();
    const log = endedLater(await openSqliteEventLog({ path: join(data, 'ledger.db') }));
    mkdirSync(journalFolder(data));
    expect(await runHere('serve', '--data', data, '--port', String(takenPort))).toMatchObject({
      exitCode: 4,
      stderr: expect.stringContaining(`${takenPort} is taken`),
    });
    expect(await typesOf(log)).not.toContain('AccountOpened');
  });
});

it('SIGTERM to a gateway that is not ready yet ends it in order: it says nothing of being ready', async () => {
  const folder = temporaryFolder();
  const file = join(folder, 'gateway.json');
  const eventLog = { kind: 'eventstoredb', connectionString: 'esdb://127.0.0.1:1?tls=false' };
  const port = await freePort();
  writeFileSync(file, JSON.stringify({ data: join(folder, 'data'), listen: { port }, eventLog, logLevel: 'silent' }));
  const child = spawn(process.execPath, [PROGRAM, 'serve', '--config', file], { stdio: ['ignore', 'pipe', 'pipe'] });
  const said = Promise.all([text(child.stdout), text(child.stderr)]);
  // Once it listens it takes signals, and the log is away for as long as nobody is there.
  await expect.poll(() => isAlive(port), { timeout: 60_000 }).toBe(true);
  expect(await stop(child)).toBe(0);
  expect(await said).toEqual(['', '']);
});

describe('the demo account', () => {
  const TRIAL = microUsd(5_000_000n);

  async function firstGateway() {
    const data = temporaryFolder();
    const log = endedLater(await openSqliteEventLog({ path: join(data, 'ledger.db') }));
    const configuration = { ...readConfiguration({ file: null, data, environment: {}, callsProviders: true }) };
    const context: CommandContext = {
      openEventLog: async () => log,
      proveLedger: async () => ({ isWhole: true, error: null }),
      compareClock: async () => null,
      environment: {},
      user: 'operator',
      clock: Date.now,
      write: () => undefined,
      warn: () => undefined,
    };
    const gateway = endedLater(
      await Gateway.start({
        configuration: { ...configuration, listen: { host: '127.0.0.1', port: 0 } },
        log,
        logger: pino({ level: 'silent' }),
        clock: Date.now,
        monotonic: () => performance.now(),
        onLedgerWhole: async () => {
          const startedWith = { config: null, data };
          await catalogAtStart(context, log, { configured: readConfiguredCatalog(configuration), startedWith });
        },
      }),
    );
    await gateway.whenReady();
    const open = () => openDemoAccount(context, log, { gateway, trial: TRIAL, product: 'gateway' });
    const ask = async (key: string | null | undefined): Promise<number> => {
      const body = JSON.stringify({ model: 'svc-mock', max_tokens: 5, messages: [{ role: 'user', content: 'hello' }] });
      const headers = { 'x-api-key': String(key) };
      const answer = await fetch(`${gateway.url}/v1/messages`, { method: 'POST', headers, body });
      await answer.text();
      return answer.status;
    };
    return { log, configuration, context, gateway, open, ask };
  }

  it('is opened by a gateway that is ready, and its key is told until something was asked with one', async () => {
    const { log, configuration, gateway, open, ask } = await firstGateway();
    expect(await typesOf(log)).not.toContain('AccountOpened');
    const first = await open();
    expect(first).toEqual({ accountId: 'acct_demo', key: expect.stringMatching(/^sk-svc-/) });
    // The process that had it may have ended before anybody saw it.
    const second = await open();
    expect(second).toEqual({ accountId: 'acct_demo', key: null });
    const words = { begun: null, demo: second, catalog: null, startedWith: { config: null, data: undefined } };
    expect(banner('http://there', configuration, words)).toMatch(
      /\nNothing has been asked yet with the key of the demo account.* for another:\n\n {2}npm run gateway -- key issue acct_demo\n/,
    );
    // Where the folder was said commands have to be told it, too.
    for (const demo of [first, second]) {
      const said = banner('http://there', configuration, {
        ...words,
        demo,
        startedWith: { config: null, data: '/a b' },
      });
      const commands = said.match(/^ {2}npm run gateway .*$/gm) ?? [];
      expect(commands).toHaveLength(demo === first ? 2 : 1);
      expect(commands.filter((command) => !command.endsWith(" acct_demo --data '/a b'"))).toEqual([]);
    }
    expect(JSON.parse(readyLine('http://there', configuration, words))).toMatchObject(second ?? {});
    expect(await ask(first?.key)).toBe(200);
    await gateway.process.settlement.idle();
    expect(await open()).toBeNull();
    expect((await typesOf(log)).filter((type) => type === 'ApiKeyIssued')).toHaveLength(1);
  });

  it('that was opened by a start which ended before its key was issued gets it by the next', async () => {
    const { log, gateway, open, ask } = await firstGateway();
    const stopAtKey: EventLog['append'] = (stream, revision, events) => {
      if (events.some(({ type }) => type === 'ApiKeyIssued')) throw new Error('killed here');
      return append(stream, revision, events);
    };
    const append = log.append.bind(log);
    log.append = stopAtKey;
    await expect(open()).rejects.toThrow('killed here');
    log.append = append;
    expect(gateway.process.projections.accounts.read(accountId('acct_demo')).state).toMatchObject({
      type: 'open',
      keys: {},
    });
    expect(await ask((await open())?.key)).toBe(200);
    expect((await typesOf(log)).filter((type) => type === 'AccountOpened')).toHaveLength(1);
  });

  it('is left alone where the ledger has anything of anybody else, or an operator has opened it', async () => {
    const { log, context, gateway, open } = await firstGateway();
    const another = { type: 'OpenAccount', kind: 'personal', trial: microUsd(0n), nowMs: 0 } as const;
    for (const id of ['acct_ada', 'acct_demo'].map(accountId)) {
      const opening = { ...another, accountId: id, email: 'ada@example.com', trialGrantId: grantId('grant_trial') };
      const { position } = await runAccountCommand(context, log, id, opening);
      if (position !== null) await gateway.process.projections.whenAt(position);
      expect(await open()).toBeNull();
    }
    expect(await typesOf(log)).not.toContain('ApiKeyIssued');
  });
});

const isAlive = (port: number): Promise<boolean> =>
  fetch(`http://127.0.0.1:${port}/healthz`).then(
    ({ ok }) => ok,
    () => false,
  );
