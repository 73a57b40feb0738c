import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { accountId, accountStream, requestId } from '../../contracts/ids.ts';
import { type LedgerLostError, ledgerLost, movedLedger } from '../../ledger/identity/ledger-lost.ts';
import { lockFolder } from '../../ledger/journal/folder-lock.ts';
import { openJournal } from '../../ledger/journal/open-journal.ts';
import { journalFolder } from '../../ledger/journal/segment-folder.ts';
import { catalogEntry } from '../fixtures/catalog-entry.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { canMount, smallDisk } from '../fixtures/ledger/small-disk.ts';
import { programInProcess } from '../fixtures/processes/program-in-process.ts';
import { runHere } from '../fixtures/processes/run-here.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { doctor, FAULTS } from './doctored.ts';

/** A configuration, and the data folder that it names, in which nothing is begun. */
function configured(settings: object = {}, data = join(temporaryFolder(), 'data')) {
  const config = join(temporaryFolder(), 'gateway.json');
  const configure = (more: object): void =>
    writeFileSync(config, JSON.stringify({ data, listen: { port: 0 }, logLevel: 'silent', ...settings, ...more }));
  configure({});
  return { data, config, configure };
}

const open = async (config: string): Promise<void> =>
  expect(await runHere('--config', config, 'account', 'open', '--email', 'a@example.com')).toMatchObject({
    exitCode: 0,
  });

it('what a gateway that runs says of itself is its verdict: taken, refused, degraded, or that of no gateway at all', async () => {
  let answer: unknown = {};
  const server = createServer((_asked, response) => response.end(JSON.stringify(answer))).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const { data, config, configure } = configured({ listen: { host: '0.0.0.0', port } });
  mkdirSync(journalFolder(data), { recursive: true });
  const lock = lockFolder(journalFolder(data));
  onTestFinished(() => lock.release());
  const asked = `the gateway at http://127.0.0.1:${port}/readyz (the one on this folder, unless that was started with another --port)`;
  for (const [says, found] of [
    [{ ok: true }, { state: 'ok', says: `${asked} takes requests` }],
    [
      { ok: false, reason: 'the views stand still' },
      { state: 'fault', says: `${asked} takes no requests: the views stand still` },
    ],
    [
      { ok: true, degraded: 'requests are stuck' },
      { state: 'warn', says: `${asked} runs degraded: requests are stuck` },
    ],
    [{ status: 'fine' }, { state: 'warn', says: expect.stringContaining('is no gateway') }],
  ] as const) {
    answer = says;
    expect((await doctor(config)).of('gateway')).toMatchObject(found);
  }
  configure({ listen: { host: '::', port: 1 } });
  expect((await doctor(config)).of('gateway')).toMatchObject({
    says: expect.stringContaining('http://[::1]:1/readyz'),
    advice: 'it may have been started with another --port',
  });
});

it('a journal that is half full, or damaged, is told before it is the end of it', async () => {
  const { data, config } = configured({ journal: { maxBytes: 64 * 1024 ** 2 } });
  const directory = journalFolder(data);
  mkdirSync(directory, { recursive: true });
  const { journal } = await openJournal({ directory, reserveBytes: 65_536 });
  for (let number = 0; number < 2_200; number++)
    journal.begin(requestId(`req_${number.toString(16).padStart(32, '0')}`), 'x'.repeat(16_000));
  await journal.close();
  expect((await doctor(config)).of('journal')).toMatchObject({
    state: 'warn',
    advice: expect.stringContaining('log back'),
  });

  const other = configured();
  const small = journalFolder(other.data);
  mkdirSync(small, { recursive: true });
  const { journal: written } = await openJournal({ directory: small, reserveBytes: 65_536 });
  for (let number = 0; number < 3; number++)
    written.begin(requestId(`req_${String(number).padStart(32, '0')}`), 'x'.repeat(500));
  await written.close();
  const [name = ''] = readdirSync(small).filter((file) => file.endsWith('.journal'));
  const bytes = readFileSync(join(small, name));
  const at = bytes.indexOf('x'.repeat(500)) + 100;
  bytes.write('y', at);
  writeFileSync(join(small, name), bytes);
  expect((await doctor(other.config)).of('journal')).toMatchObject({
    ...{
      state: 'warn',
      says: expect.stringContaining('is damaged at byte'),
      advice: expect.stringContaining(`(gateway ledger reconcile FILE --provider NAME --config ${other.config})`),
    },
  });
});

it('of the catalog: a file that cannot be used, one that the next start publishes, none, and one that is not in force', async () => {
  const { config, configure } = configured();
  const file = join(temporaryFolder(), 'catalog.json');
  const write = (...names: string[]): void => {
    const models = names.map((name) => catalogEntry(name, { upstreams: [{ provider: 'mock', model: 'x' }] }));
    writeFileSync(file, JSON.stringify({ models }));
  };
  await open(config);
  const found = async () => (await doctor(config)).of('catalog');
  expect(await found()).toMatchObject({ state: 'warn', says: expect.stringContaining('nothing is sold') });
  configure({ catalog: file });
  expect(await found()).toMatchObject({ state: 'fault', says: expect.stringContaining(file) });
  write('opal-medium');
  expect(await found()).toMatchObject({ state: 'ok', says: expect.stringContaining('the next start publishes') });
  expect((await runHere('--config', config, 'catalog', 'publish', file)).exitCode).toBe(0);
  write('opal-medium', 'opal-large');
  expect(await found()).toMatchObject({ state: 'warn', says: expect.stringContaining('differs from it') });
});

it('a clock that disagrees with the log is a fault, and what the folder itself says is amiss a warning', async () => {
  const program = endedLater(await programInProcess());
  await program.run('account', 'open', '--email', 'a@example.com');
  const nowMs = program.clock();
  program.clock = () => nowMs - 40 * 86_400_000;
  program.ledger = { isWhole: true, error: null, warning: 'its views cannot be read' };
  const said: string[] = [];
  Object.assign(program.context, { write: (text: string) => said.push(text) });
  await expect(program.run('--json', 'doctor', '--timeout', '1')).rejects.toMatchObject({ exitCode: FAULTS });
  const findings: { check: string }[] = JSON.parse(said.join(''));
  const of = (name: string) => findings.find(({ check }) => check === name);
  expect(of('clock')).toMatchObject({ state: 'fault', says: expect.stringContaining('40 days behind') });
  expect(of('ledger')).toMatchObject({ state: 'warn', says: 'its views cannot be read' });
});

it('what no start goes on without is a fault before there is a ledger: the file of its catalog, the key and the copy of its seals', async () => {
  const { config, configure } = configured();
  const [folder, none] = [temporaryFolder(), join(temporaryFolder(), 'none')];
  const found = async (settings: object) => {
    configure(settings);
    return doctor(config);
  };
  const whole = await found({ seals: { copyTo: folder } });
  expect([whole.exitCode, whole.of('catalog')?.state, whole.of('seals')?.state]).toEqual([0, 'warn', 'warn']);
  const says = expect.stringContaining(none);
  expect((await found({ catalog: none })).of('catalog')).toMatchObject({ state: 'fault', says });
  expect((await found({ seals: { keyFile: none } })).of('seals')).toMatchObject({ state: 'fault', says });
  const copyTo = join(none, 'seals.jsonl');
  expect((await found({ seals: { copyTo } })).of('seals')).toMatchObject({ state: 'fault', says });
  await open(config);
  expect((await found({ seals: { copyTo } })).of('seals')).toMatchObject({ state: 'fault', says });
});

it('a fault in several lines is told on one, with what to do once', async () => {
  const program = endedLater(await programInProcess());
  const said: string[] = [];
  Object.assign(program.context, { write: (text: string) => said.push(text) });
  const ranges = {
    revision: 7,
    end: 3,
    isReplaced: false,
    knownBy: ['the journal'],
    sharedAtLeast: 3,
    sharedAtMost: 3,
  };
  const lost = ['a', 'b'].map((name) => ({ ...ranges, id: null, stream: accountStream(accountId(name)) }));
  const toldOf = async (error: LedgerLostError): Promise<string> => {
    program.ledger = { isWhole: false, error };
    await expect(program.run('doctor', '--timeout', '1')).rejects.toMatchObject({ exitCode: FAULTS });
    return (
      said
        .splice(0)
        .join('')
        .split('\n')
        .find((line) => /fault +ledger /.test(line)) ?? ''
    );
  };
  const ofLost = await toldOf(ledgerLost('here', { lost, untold: 0 }));
  expect(ofLost).toMatch(
    /served from it: account-a: .*; account-b: .*; Put back .* up with gateway ledger accept-loss/,
  );
  expect(ofLost).not.toMatch(/u000a|accept-loss.*accept-loss/);
  const ofMoved = await toldOf(movedLedger('here', { to: 'there', movedAt: '2026-11-28T00:00:00.000Z' }));
  expect(ofMoved).toMatch(/from here\. Name that place .* whole yet, run the same .* again first\.$/);
});

it('a data folder that is none is a fault, and a look needs a second', async () => {
  const file = join(temporaryFolder(), 'file');
  writeFileSync(file, '');
  const { config } = configured({}, file);
  expect((await doctor(config)).of('data folder')).toMatchObject({
    ...{ state: 'fault', says: `${file} is no folder` },
  });
  expect(await runHere('--config', config, 'doctor', '--timeout', '0')).toMatchObject({
    ...{ exitCode: 2, stderr: expect.stringContaining('--timeout must be at least 1') },
  });
});

it.runIf(canMount)('a disk on which requests are refused is a fault', async () => {
  const disk = smallDisk(8 * 1_024);
  const data = join(dirname(disk.folder), 'data');
  mkdirSync(data);
  const { config } = configured({}, data);
  disk.leaveFree(0);
  const found = (await doctor(config)).of('disk');
  disk.clear();
  expect(found).toMatchObject({ state: 'fault', says: expect.stringContaining('requests are refused below') });
});

it('of many accounts that are set aside five are named, and the others counted', async () => {
  const { data, config } = configured();
  mkdirSync(data, { recursive: true });
  const parked = [1, 2, 3, 4, 5, 6, 7].map((number) => ({ accountId: `acct_${number}`, reason: 'odd' }));
  writeFileSync(join(data, 'parked.json'), JSON.stringify(parked));
  expect((await doctor(config)).of('accounts')).toMatchObject({
    state: 'warn',
    says: expect.stringMatching(/^7 set aside.*acct_5 \(parked: odd\) and 2 more$/),
    advice: `\`gateway projections unpark ACCOUNT --config ${config}\` serves one again`,
  });
});

it('a catalog in force serves where its configured file cannot be used, and where one of the places of a model is known', async () => {
  const { config, configure } = configured();
  await open(config);
  const file = join(temporaryFolder(), 'catalog.json');
  const upstreams = [
    { provider: 'gone', model: 'x' },
    { provider: 'mock', model: 'x' },
  ];
  configure({ providers: { gone: { protocol: 'messages', baseUrl: 'http://[::1]:1', apiKeyEnv: 'PATH' } } });
  writeFileSync(file, JSON.stringify({ models: [catalogEntry('opal-medium', { upstreams })] }));
  expect((await runHere('--config', config, 'catalog', 'publish', file)).exitCode).toBe(0);
  const known = await doctor(config);
  expect(known.of('upstream gone')).toMatchObject({ state: 'ok', says: '::1 is an address' });
  expect(known.of('credentials')).toMatchObject({ state: 'ok', says: expect.stringMatching(/PATH for gone$/) });
  configure({});
  expect((await doctor(config)).of('catalog')).toMatchObject({ state: 'ok' });
  writeFileSync(file, 'no catalog');
  configure({ catalog: file });
  expect((await doctor(config)).of('catalog')).toMatchObject({ state: 'warn', says: expect.stringContaining(file) });
});

it('requests that a gateway has under way are nothing to be told of', async () => {
  const { data, config } = configured();
  mkdirSync(journalFolder(data), { recursive: true });
  const { journal } = await openJournal({ directory: journalFolder(data), reserveBytes: 65_536 });
  onTestFinished(() => journal.close());
  journal.begin(requestId(`req_${'0'.repeat(32)}`), '{}');
  await journal.durable();
  expect((await doctor(config)).of('journal')).toMatchObject({
    state: 'ok',
    says: expect.stringMatching(/^1 request under way, 0 ended/),
  });
});
