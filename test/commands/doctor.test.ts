import { createHash, generateKeyPairSync } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { requestId } from '../../contracts/ids.ts';
import { openJournal } from '../../ledger/journal/open-journal.ts';
import { listenWith } from '../../proxy/program/listening.ts';
import { proxyIdOf } from '../../proxy/proxy-id.ts';
import { startFakeEventStore } from '../eventstoredb/fake-event-store.ts';
import { catalogEntry } from '../fixtures/catalog-entry.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { startTestGateway } from '../fixtures/gateway/start-gateway.ts';
import { untilSealed } from '../fixtures/ledger/until-sealed.ts';
import { runHere } from '../fixtures/processes/run-here.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { doctor, FAULTS } from './doctored.ts';

/** A folder with a configuration, and a ledger in it that has an account. */
async function site(settings: object = {}, { isBegun = true } = {}) {
  const folder = temporaryFolder();
  const data = join(folder, 'data');
  const config = join(folder, 'gateway.json');
  const configure = (more: object): void =>
    writeFileSync(config, JSON.stringify({ data, listen: { port: 0 }, logLevel: 'silent', ...settings, ...more }));
  configure({});
  if (isBegun) {
    const { exitCode, stderr } = await runHere('--config', config, 'account', 'open', '--email', 'a@example.com');
    expect([exitCode, stderr]).toEqual([0, expect.stringContaining('a new ledger was begun')]);
  }
  return { folder, data, config, configure };
}

const publish = async (config: string, folder: string, models: readonly object[]): Promise<void> => {
  const file = join(folder, 'catalog.json');
  writeFileSync(file, JSON.stringify({ models }));
  expect((await runHere('--config', config, 'catalog', 'publish', file)).exitCode).toBe(0);
};

const ON_MOCK = { upstreams: [{ provider: 'mock', model: 'x' }] };

/** Every file with what is in it and who may read it; whoever opens a ledger notes in `ledger.db-pair` which -wal it has. */
const everything = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name !== 'ledger.db-pair')
    .sort()
    .map((name) => {
      const { mode, size } = statSync(join(folder, name));
      const isFile = statSync(join(folder, name)).isFile();
      const hash = isFile
        ? createHash('sha256')
            .update(readFileSync(join(folder, name)))
            .digest('hex')
        : '';
      return `${name} ${mode} ${isFile ? size : ''} ${hash}`;
    });

it('where nothing is yet it says what the first start makes, finds no fault and makes nothing', async () => {
  const { folder, data, config } = await site({}, { isBegun: false });
  const { exitCode, states, findings } = await doctor(config);
  expect(states).toEqual({
    ...{ configuration: 'ok', credentials: 'ok', descriptors: 'ok', 'data folder': 'warn', disk: expect.any(String) },
    ...{
      accounts: 'ok',
      gateway: 'ok',
      log: 'warn',
      ledger: 'warn',
      clock: 'warn',
      catalog: 'warn',
      views: 'warn',
      product: 'warn',
      statements: 'warn',
      seals: 'warn',
    },
    ...{ journal: 'ok', kafka: 'ok', upstreams: 'ok', payments: 'ok', 'paying accounts': 'ok' },
  });
  expect(exitCode).toBe(0);
  for (const { state, says, advice } of findings) if (state === 'warn') expect(`${says}${advice}`).not.toBe('');
  expect([existsSync(data), readdirSync(folder)]).toEqual([false, ['gateway.json']]);
});

it('a ledger is described with its version, its newest event, its catalog and its clock, a line each, and nothing changes', async () => {
  const { folder, data, config } = await site();
  await publish(config, folder, [catalogEntry('opal-medium', ON_MOCK)]);
  // As its own process makes them.
  for (const name of ['.', ...readdirSync(data)]) chmodSync(join(data, name), name === '.' ? 0o700 : 0o600);
  const before = everything(data);
  const { exitCode, of } = await doctor(config);
  expect(of('log')).toMatchObject({
    state: 'ok',
    says: expect.stringMatching(/ledger\.db \(SQLite [\d.]+, schema 1\).* position \d+, of 20/),
  });
  expect(of('ledger')).toMatchObject({ state: 'ok' });
  expect(of('clock')).toMatchObject({ state: 'ok' });
  expect(of('catalog')).toMatchObject({
    state: 'ok',
    says: 'version 1 with 1 model is in force, each has a provider',
  });
  expect(of('data folder')).toMatchObject({ state: 'ok' });
  expect(everything(data)).toEqual(before);
  const { stdout } = await runHere('--config', config, 'doctor');
  const lines = stdout.trimEnd().split('\n');
  expect(lines).toHaveLength(20);
  for (const line of lines) expect(line).toMatch(/^(ok|warn|fault) +[a-z]+/);
  expect(exitCode).toBe(0);
});

it('a configuration that cannot be read is the fault, with each of its own', async () => {
  const { config, configure } = await site({}, { isBegun: false });
  configure({ listen: { port: -1 }, accessLog: 'elsewhere' });
  const { exitCode, of, states } = await doctor(config);
  expect(exitCode).toBe(FAULTS);
  expect(states).toEqual({ configuration: 'fault', descriptors: 'ok' });
  expect(of('configuration')?.says).toMatch(/^\S+: listen\.port: [^;]+; accessLog: [^;]+$/);
});

it('a credential that is missing is told by its name, one that is there by nothing else; names without an address are told', async () => {
  const { config, configure } = await site();
  const provider = (baseUrl: string, apiKeyEnv: string) => ({ protocol: 'messages', baseUrl, apiKeyEnv });
  configure({
    providers: {
      one: provider('http://127.0.0.1:1', 'DOCTOR_TEST_NOT_THERE'),
      two: provider('https://provider.invalid', 'DOCTOR_TEST_KEY'),
    },
  });
  process.env.DOCTOR_TEST_KEY = 'a-secret-value';
  onTestFinished(() => void delete process.env.DOCTOR_TEST_KEY);
  const { exitCode, of, findings, stderr } = await doctor(config, '--timeout', '3');
  expect(of('credentials')).toMatchObject({
    state: 'fault',
    says: 'providers.one.apiKeyEnv: the environment variable DOCTOR_TEST_NOT_THERE is not set',
  });
  expect(of('upstream one')).toMatchObject({ state: 'ok', says: '127.0.0.1 is an address' });
  expect(of('upstream two')).toMatchObject({
    state: 'fault',
    advice: expect.stringContaining('providers.two.baseUrl'),
  });
  expect(JSON.stringify(findings) + stderr).not.toContain('a-secret-value');
  expect([exitCode, stderr]).toEqual([FAULTS, 'gateway: faults found: 2\n']);
});

it('servers that take a connection and never answer hold up nothing beyond their time', async () => {
  const sockets = new Set<{ destroy(): void }>();
  const silent = createServer((socket) => void sockets.add(socket.on('error', () => undefined)));
  await listenWith(silent, '127.0.0.1', 0);
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    silent.close();
  });
  const address = silent.address();
  const port = typeof address === 'object' ? address?.port : 0;
  const { config } = await site(
    {
      eventLog: { kind: 'eventstoredb', connectionString: `esdb://127.0.0.1:${port}?tls=false` },
      kafka: { brokers: [`127.0.0.1:${port}`], topic: 'ledger' },
    },
    { isBegun: false },
  );
  const { exitCode, of, states } = await doctor(config, '--timeout', '1');
  expect(exitCode).toBe(FAULTS);
  expect(of('log')).toMatchObject({
    state: 'fault',
    says: 'no answer within 1 s',
    advice: expect.stringContaining('eventLog'),
  });
  expect(of('kafka')).toMatchObject({ state: 'fault', says: 'no answer within 1 s' });
  expect(states).toMatchObject({ ledger: 'warn', clock: 'warn', catalog: 'warn', views: 'warn', seals: 'warn' });
});

it('an event store is described with its version; without rights, what to mend is told', async () => {
  const store = endedLater(await startFakeEventStore());
  const { config } = await site({ eventLog: { kind: 'eventstoredb', connectionString: store.connectionString } });
  const events = () => store.events().filter(({ stream }) => !/^\$|^clock-/.test(stream)).length;
  const before = events();
  const { of } = await doctor(config);
  expect(of('log')).toMatchObject({ state: 'ok', says: expect.stringContaining('(EventStoreDB 23.10.1') });
  expect(of('clock')).toMatchObject({ state: 'ok' });
  // By default nothing is sealed there.
  expect(of('seals')).toMatchObject({ state: 'warn', says: expect.stringContaining('seals.keyFile') });
  expect(events()).toBe(before);
  store.faults.onAppend = () => 'access-denied';
  const refused = await doctor(config);
  expect(refused.of('log')).toMatchObject({ state: 'fault', says: expect.stringContaining('may not append') });
  expect(refused.exitCode).toBe(FAULTS);
});

it('beside a gateway that runs it says what that one says, and that views, seals and journal are up to date', async () => {
  const gateway = await startTestGateway({
    upstreamUrl: 'http://127.0.0.1:1',
    settings: { seals: { afterMs: 86_400_000 } },
  });
  onTestFinished(() => gateway.stop());
  const config = join(temporaryFolder(), 'gateway.json');
  const configured = (port: number): void => {
    const test = { protocol: 'messages', baseUrl: 'http://127.0.0.1:1', apiKeyEnv: 'DOCTOR_TEST_NOT_THERE' };
    const seals = { afterMs: 86_400_000 };
    writeFileSync(config, JSON.stringify({ data: gateway.data, listen: { port }, seals, providers: { test } }));
  };
  configured(Number(new URL(gateway.url).port));
  const { exitCode, of, states } = await doctor(config);
  expect(of('gateway')).toMatchObject({ state: 'ok', says: expect.stringContaining('takes requests') });
  expect(states).toMatchObject({ log: 'ok', ledger: 'ok', clock: 'ok', views: 'ok', seals: 'ok', journal: 'ok' });
  // The gateway has its own: this environment is another.
  expect([exitCode, of('credentials')?.state]).toEqual([0, 'warn']);
  configured(1);
  expect((await doctor(config)).of('gateway')).toMatchObject({
    state: 'warn',
    advice: expect.stringContaining('--port'),
  });
  // It has gone on: a look takes nothing from it.
  expect((await fetch(`${gateway.url}/healthz`)).status).toBe(200);
});

it('without a gateway it says what waits for the next start: requests, events that views lack, seals that are due', async () => {
  const gateway = await startTestGateway();
  await gateway.stop();
  const { data } = gateway;
  const config = join(temporaryFolder(), 'gateway.json');
  writeFileSync(config, JSON.stringify({ data, listen: { port: 0 }, seals: { afterMs: 1 } }));
  expect((await runHere('--config', config, 'account', 'open', '--email', 'b@example.com')).exitCode).toBe(0);
  const { journal } = await openJournal({ directory: join(data, 'journal'), reserveBytes: 65_536 });
  journal.begin(requestId(`req_${'0'.repeat(32)}`), '{}');
  await journal.close();
  const { of } = await doctor(config);
  expect(of('journal')).toMatchObject({ state: 'warn', says: expect.stringMatching(/^1 request under way, 0 ended/) });
  expect(of('views')).toMatchObject({ state: 'warn', says: expect.stringMatching(/; \d events behind/) });
  expect(of('seals')).toMatchObject({ state: 'warn', advice: 'a gateway that runs seals it' });
});

it('what has to be mended is a fault, with what to do', async () => {
  const { folder, data, config, configure } = await site({ providers: {} });
  await publish(config, folder, [catalogEntry('opal-medium', ON_MOCK)]);
  // A provider that the catalog names, and the configuration has not any more.
  configure({ providers: { gone: { protocol: 'messages', baseUrl: 'http://127.0.0.1:1', apiKeyEnv: 'PATH' } } });
  await publish(config, folder, [catalogEntry('opal-medium', { upstreams: [{ provider: 'gone', model: 'x' }] })]);
  configure({ journal: { maxBytes: 1e12 } });
  chmodSync(data, 0o755);
  const first = await doctor(config);
  expect(first.of('catalog')).toMatchObject({
    state: 'fault',
    says: expect.stringContaining('no provider for opal-medium (gone)'),
  });
  expect(first.of('data folder')).toMatchObject({ state: 'warn', advice: expect.stringContaining('chmod') });
  const { bavail, bsize } = statfsSync(data);
  expect(first.of('disk')?.state).toBe(bavail * bsize < 1e12 ? 'warn' : 'ok');
  // Views that cannot be read, and a ledger that another folder knows better.
  proxyIdOf(data, Date.now());
  writeFileSync(join(data, 'views.db'), 'no database');
  expect((await doctor(config)).of('views')).toMatchObject({
    state: 'warn',
    says: expect.stringContaining('cannot be read as views'),
  });
  rmSync(join(data, 'views.db'));
  mkdirSync(join(data, 'journal'));
  rmSync(join(data, 'ledger.db'));
  const lost = await doctor(config);
  expect(lost.of('log')).toMatchObject({ state: 'fault', says: expect.stringContaining('ledger.db') });
  expect([lost.exitCode, existsSync(join(data, 'ledger.db'))]).toEqual([FAULTS, false]);
});

it('a journal that is full, and a gateway whose views and seals do not follow, are faults', async () => {
  const gateway = await startTestGateway();
  await gateway.stop();
  const { data } = gateway;
  const config = join(temporaryFolder(), 'gateway.json');
  const own = { seals: { afterMs: 1 }, projections: { maxAgeMs: 1 }, journal: { maxBytes: 64 * 1024 ** 2 } };
  writeFileSync(config, JSON.stringify({ data, listen: { port: 1 }, ...own }));
  expect((await runHere('--config', config, 'account', 'open', '--email', 'b@example.com')).exitCode).toBe(0);
  // What has the folder, and neither reads nor seals.
  const { journal } = await openJournal({ directory: join(data, 'journal'), reserveBytes: 65_536 });
  onTestFinished(() => journal.close());
  const stuck = await doctor(config);
  expect(stuck.of('views')).toMatchObject({ state: 'fault', advice: expect.stringContaining('do not follow') });
  expect(stuck.of('seals')).toMatchObject({ state: 'fault', says: expect.stringContaining('one is due after') });
  for (let number = 0; number < 4_200; number++)
    journal.begin(requestId(`req_${number.toString(16).padStart(32, '0')}`), 'x'.repeat(16_000));
  const full = await doctor(config);
  expect(full.of('journal')).toMatchObject({ state: 'fault', says: expect.stringContaining('requests are refused') });
});

it('a key of seals that is gone, or is another than the ledger knows, is a fault, and none is made', async () => {
  const gateway = await startTestGateway({ settings: { seals: { events: 1, afterMs: 1 } } });
  await untilSealed(gateway.log, 1);
  await gateway.stop();
  const config = join(temporaryFolder(), 'gateway.json');
  writeFileSync(config, JSON.stringify({ data: gateway.data, listen: { port: 0 } }));
  const key = join(gateway.data, 'seal-key');
  const lost = `where it is lost: gateway ledger keys rotate --lost --config ${config} --data ${gateway.data}`;
  const own = readFileSync(key);
  rmSync(key);
  expect((await doctor(config)).of('seals')).toMatchObject({
    state: 'fault',
    advice: expect.stringContaining(lost),
  });
  expect(existsSync(key)).toBe(false);
  const { privateKey } = generateKeyPairSync('ed25519');
  writeFileSync(key, privateKey.export({ type: 'pkcs8', format: 'pem' }));
  expect((await doctor(config)).of('seals')).toMatchObject({
    state: 'fault',
    advice: expect.stringContaining(lost),
  });
  // As a rotation that was interrupted leaves it.
  writeFileSync(key, own);
  expect((await runHere('--config', config, 'ledger', 'keys', 'rotate')).exitCode).toBe(0);
  writeFileSync(key, own);
  expect((await doctor(config)).of('seals')).toMatchObject({
    state: 'fault',
    advice: `put that one back, or introduce the next: gateway ledger keys rotate --config ${config} --data ${gateway.data}`,
  });
});

it('where the lock of the folder cannot be read that is the fault, and all else is looked at', async () => {
  const { data, config } = await site();
  mkdirSync(join(data, 'journal', 'lock.db'), { recursive: true });
  const { exitCode, of } = await doctor(config);
  expect(of('gateway')).toMatchObject({ state: 'fault', says: expect.stringContaining('its lock cannot be read') });
  expect([exitCode, of('log')?.state]).toEqual([FAULTS, 'ok']);
});

it('a place that is taken is a fault', async () => {
  const taken = createServer();
  await listenWith(taken, '127.0.0.1', 0);
  onTestFinished(() => void taken.close());
  const address = taken.address();
  const { config } = await site(
    { listen: { port: typeof address === 'object' ? address?.port : 0 } },
    { isBegun: false },
  );
  expect((await doctor(config)).of('gateway')).toMatchObject({
    state: 'fault',
    says: expect.stringContaining('is taken'),
  });
});
