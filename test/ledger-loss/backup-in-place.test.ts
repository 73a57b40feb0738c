import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { openSqliteEventLog } from '../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { copySite, copyTo, open } from '../commands/copy-site.ts';
import { startTestGateway } from '../fixtures/gateway/start-gateway.ts';
import { runHere } from '../fixtures/processes/run-here.ts';
import { runProgram } from '../fixtures/processes/run-program.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { readKept } from '../written-before/kept-state.ts';

/** All that is in a folder: each file's bytes, and when anything was written to it or beside it. */
const asItIs = (folder: string): unknown =>
  ['', ...readdirSync(folder, { recursive: true, encoding: 'utf8' })].sort().map((name) => {
    const path = join(folder, name);
    const { mtimeNs, mode } = statSync(path, { bigint: true });
    return { name, mtimeNs, mode, bytes: statSync(path).isFile() ? readFileSync(path, 'base64') : null };
  });

const refusal = (backup: string, orLook = `; \`gateway ledger verify --offline ${backup}/ledger.db\` looks at its`) =>
  new RegExp(
    `^[^\\n]*${backup} is a backup, and stays as it is: \`gateway ledger restore ${backup} --data FOLDER\` makes a data folder of it${orLook}[^\\n]*\\n$`,
  );

/** Of what an earlier program has left, with requests in its journal. */
async function backedUp(): Promise<string> {
  const data = join(readKept('76ed563', 'sqlite', 'whole').folder, 'data');
  const to = join(temporaryFolder(), 'backup');
  expect(await runHere('--data', data, 'ledger', 'backup', to)).toMatchObject({ exitCode: 0, stderr: '' });
  return to;
}

describe('a folder that is a backup', () => {
  let backup = '';
  let withKafka = '';
  beforeAll(async () => {
    backup = await backedUp();
    withKafka = join(temporaryFolder(), 'gateway.json');
    writeFileSync(withKafka, JSON.stringify({ kafka: { brokers: ['127.0.0.1:1'], topic: 'ledger' } }));
  });

  const commands = [
    ...['account show acct_ada', 'account list', 'account usage acct_ada', 'key list acct_ada', 'catalog show'],
    ...['ledger verify --all', 'ledger verify acct_ada', 'ledger verify --seals', 'ledger forms', 'ledger keys'],
    ...['ledger report --month 2026-11', 'ledger events acct_ada', 'projections status', 'projections diff --all'],
    ...['account open --email eve@example.com', 'credits grant acct_ada --usd 1', 'key issue acct_ada'],
    ...['ledger forms --adopt', 'ledger accept-loss --reason test', 'ledger copy --to esdb://127.0.0.1:1'],
    ...['projections park acct_ada --reason test', 'projections unpark acct_ada', 'projections rebuild --all'],
    ...['projections rollback', 'relay', 'relay fill ledger-2'],
  ];

  it.each(commands)(
    'stays as it is before `gateway %s`, which says what makes a data folder of it',
    async (command) => {
      const before = asItIs(backup);
      const said = await runHere('--config', withKafka, '--data', backup, ...command.split(' '));
      expect(said).toEqual({ exitCode: 3, stdout: '', stderr: expect.stringMatching(refusal(backup)) });
      expect(asItIs(backup)).toEqual(before);
    },
  );

  it('is not backed up once more, for that would open it', async () => {
    const before = asItIs(backup);
    const other = join(temporaryFolder(), 'other');
    const said = await runHere('--data', backup, 'ledger', 'backup', other);
    expect(said).toMatchObject({ exitCode: 3, stderr: expect.stringMatching(refusal(backup)) });
    expect(existsSync(other)).toBe(false);
    expect(asItIs(backup)).toEqual(before);
  });

  it('is served from by no gateway, and `gateway doctor` says so', async () => {
    const before = asItIs(backup);
    const served = await runProgram('--data', backup, 'serve', '--port', '0');
    expect(served).toEqual({ exitCode: 3, stdout: '', stderr: expect.stringMatching(refusal(backup)) });
    const looked = await runHere('--data', backup, 'doctor');
    const looksAt = / looks at its ledger where it is\n/.source;
    expect(looked).toMatchObject({
      exitCode: 5,
      stdout: expect.stringMatching(new RegExp(`fault +log +.* is a backup, and stays as it is: .*${looksAt}`)),
    });
    expect(asItIs(backup)).toEqual(before);
  });

  it('is looked at as a file, restored from and taken for a survivor, and stays as it is', async () => {
    const before = asItIs(backup);
    const file = join(backup, 'ledger.db');
    for (const command of ['verify', 'verify --seals', 'report --month 2026-11'])
      expect(await runHere('ledger', ...command.split(' '), '--offline', file), command).toMatchObject({ exitCode: 0 });
    const data = join(temporaryFolder(), 'data');
    const survivors = ['--from-copy', file, '--from-journal', backup];
    expect(await runHere('--data', data, 'ledger', 'restore', backup, ...survivors)).toMatchObject({ exitCode: 0 });
    expect(asItIs(backup)).toEqual(before);
    expect(await runHere('--data', data, 'account', 'list')).toMatchObject({ exitCode: 0, stderr: '' });
  });

  it('of an account’s members tells none where it is', async () => {
    const said = await runHere('--data', backup, 'account', 'show', 'acct_ada', '--as', 'ada@example.com');
    expect(said).toMatchObject({ exitCode: 3, stderr: expect.not.stringContaining(backup) });
  });
});

it('a backup is no place to copy a ledger to, of which it has the beginning', async () => {
  const site = await copySite();
  await open(site.inFile, 'ada');
  const backup = join(temporaryFolder(), 'backup');
  await runHere('--config', site.inFile, 'ledger', 'backup', backup);
  expect(await copyTo(site)).toMatchObject({ exitCode: 0 });
  mkdirSync(join(backup, 'more'));
  const before = asItIs(backup);
  for (const to of [backup, join(backup, 'ledger.db'), join(backup, 'more', 'ledger.db')]) {
    const said = await runHere('--config', site.inStore, 'ledger', 'copy', '--to', to);
    expect(said).toEqual({ exitCode: 3, stdout: '', stderr: expect.stringMatching(refusal(backup)) });
    expect(asItIs(backup)).toEqual(before);
  }
});

it('a data folder that was made of a backup by hand, and served from, is one, also with the manifest in it', async () => {
  const [backup, data] = [await backedUp(), temporaryFolder()];
  cpSync(backup, data, { recursive: true });
  rmSync(join(data, 'manifest.json'));
  const gateway = await startTestGateway({ data });
  await gateway.stop();
  cpSync(join(backup, 'manifest.json'), join(data, 'manifest.json'));
  expect(await runHere('--data', data, 'account', 'show', 'acct_ada')).toMatchObject({ exitCode: 0, stderr: '' });
});

it('a backup that a program of before has opened is restored from no more, and the way out that is named leads out', async () => {
  const backup = await backedUp();
  const file = join(backup, 'ledger.db');
  const before = readFileSync(file);
  const log = await openSqliteEventLog({ path: file });
  await log.close();
  expect(readFileSync(file).equals(before)).toBe(false);
  const data = join(temporaryFolder(), 'data');
  const said = await runHere('--data', data, 'ledger', 'restore', backup);
  const verify = `gateway ledger verify --all --offline ${file}`;
  expect(said).toEqual({
    ...{ exitCode: 5, stdout: '' },
    stderr: `gateway: ${file} is not as it was backed up: restore an older one. Where a program of before has opened it, and \`${verify}\` finds no fault, a copy of ${backup} without manifest.json is a data folder\n`,
  });
  expect(await runHere(...verify.split(' ').slice(1))).toMatchObject({ exitCode: 0 });
  cpSync(backup, data, { recursive: true });
  rmSync(join(data, 'manifest.json'));
  const gateway = await startTestGateway({ data });
  await gateway.stop();
  expect(await runHere('--data', data, 'ledger', 'verify', '--all')).toMatchObject({ exitCode: 0, stderr: '' });
});

it.each([
  ['a web app’s', '{"name":"app","start_url":"/","icons":[]}', 0],
  ['none that can be read', '{"form":', 0],
  ['of a later form', '{"form":2,"ledger":{"more":1},"files":[{"path":"ledger.db"}],"more":1}', 3],
])('a folder with a manifest.json, %s, is a backup as far as that is a backup’s', async (_whose, text, exitCode) => {
  const data = temporaryFolder();
  await runHere('--data', data, 'account', 'open', '--email', 'ada@example.com');
  writeFileSync(join(data, 'manifest.json'), text);
  expect(await runHere('--data', data, 'account', 'list')).toMatchObject({ exitCode });
});

it('nothing is made in a backup, at any depth of it, also by a link', async () => {
  const [backup, folder] = [await backedUp(), temporaryFolder()];
  const [data, other, link] = [join(folder, 'data'), join(folder, 'other'), join(folder, 'link')];
  await runHere('--data', data, 'account', 'open', '--email', 'ada@example.com');
  await runHere('--data', data, 'ledger', 'backup', other);
  symlinkSync(join(backup, 'journal'), link);
  const before = asItIs(backup);
  const written = (inner: string): string[][] => [
    ['--data', data, 'ledger', 'export', '--format', 'csv', '--out', inner],
    ['--data', data, 'ledger', 'export', '--format', 'ndjson', '--out', inner],
    ['--data', data, 'ledger', 'report', '--month', '2026-10', '--out', inner],
    ['--data', data, 'ledger', 'verify', '--seals', '--keep-leaves', inner],
    ['ledger', 'verify', '--seals', '--offline', join(backup, 'ledger.db'), '--keep-leaves', inner],
  ];
  const made = (inner: string): string[][] => [
    ['--data', data, 'ledger', 'backup', inner],
    ['--data', inner, 'ledger', 'restore', other],
    ['--data', inner, 'account', 'open', '--email', 'eve@example.com'],
    ['--data', inner, 'account', 'list'],
    ...written(inner),
  ];
  const inners = [join(backup, 'inner'), join(backup, 'journal', 'inner'), join(link, 'inner')];
  // What is behind a link is its target's: `..` of it is in the backup, and not beside the link.
  for (const command of [...inners.flatMap(made), ...written(`${link}/../inner`)]) {
    const said = await runHere(...command);
    expect(said, command.join(' ')).toEqual({
      ...{ exitCode: 3, stdout: '' },
      stderr: expect.stringMatching(refusal(backup)),
    });
  }
  expect(asItIs(backup)).toEqual(before);
});

it('a data folder that was put into a backup is to be moved out, by all who would open it, and doctor says so', async () => {
  const backup = await backedUp();
  const live = join(backup, 'live');
  const settings = join(temporaryFolder(), 'gateway.json');
  const doctor = async (data: string) => {
    const { exitCode, stdout } = await runHere('--config', settings, '--data', data, 'doctor', '--json');
    const found = JSON.parse(stdout) as { check: string; state: string; says: string; advice: string | null }[];
    return { exitCode, of: (name: string) => found.find(({ check }) => check === name) };
  };
  writeFileSync(settings, '{}');
  const absent = await doctor(live);
  const isBackup = { state: 'fault', says: expect.stringContaining(`${backup} is a backup`), advice: null };
  expect([absent.exitCode, absent.of('log'), absent.of('data folder')]).toMatchObject([5, isBackup, isBackup]);

  const data = join(temporaryFolder(), 'data');
  await runHere('--data', data, 'account', 'open', '--email', 'ada@example.com', '--id', 'acct_ada');
  renameSync(data, live);
  const before = asItIs(backup);
  const moveOut = `${live} is in ${backup}, which is a backup, and stays as it is: move ${live} out of it`;
  for (const command of ['account list', 'account open --email eve@example.com', 'ledger verify --all'])
    expect(await runHere('--data', live, ...command.split(' ')), command).toEqual({
      ...{ exitCode: 3, stdout: '', stderr: `gateway: ${moveOut}\n` },
    });
  const served = await runProgram('--data', live, 'serve', '--port', '0');
  expect(served).toEqual({ exitCode: 3, stdout: '', stderr: expect.stringContaining(moveOut) });
  const looked = await doctor(live);
  expect([looked.exitCode, looked.of('log')]).toMatchObject([5, { state: 'fault', says: moveOut, advice: null }]);
  expect(asItIs(backup)).toEqual(before);

  // Of a ledger that an event store keeps a folder has no file.
  const ran = join(backup, 'ran');
  mkdirSync(join(ran, 'journal'), { recursive: true });
  expect(await runHere('--data', ran, 'account', 'list')).toMatchObject({
    ...{ exitCode: 3, stderr: expect.stringContaining(`move ${ran} out of it`) },
  });
  rmSync(ran, { recursive: true });

  renameSync(live, data);
  expect(await runHere('--data', data, 'account', 'show', 'acct_ada')).toMatchObject({ exitCode: 0 });
  const restored = join(temporaryFolder(), 'restored');
  expect(await runHere('--data', restored, 'ledger', 'restore', backup)).toMatchObject({ exitCode: 0 });
});

it('a gateway copies no seal into a backup, and says so, as doctor does beforehand', async () => {
  const backup = await backedUp();
  const before = asItIs(backup);
  const links = temporaryFolder();
  const [there, notThere] = [join(links, 'there'), join(links, 'not-there')];
  symlinkSync(backup, there);
  symlinkSync(join('there', 'seals.ndjson'), notThere);
  for (const copyTo of [backup, join(backup, 'seals.ndjson'), join(backup, 'journal'), notThere]) {
    const config = join(temporaryFolder(), 'gateway.json');
    writeFileSync(config, JSON.stringify({ data: join(temporaryFolder(), 'data'), seals: { events: 1, copyTo } }));
    const looked = await runHere('--config', config, 'doctor');
    const fault = new RegExp(`fault +seals +seals.copyTo: ${backup} is a backup, .*; make it, or name another place\n`);
    expect(looked).toMatchObject({ exitCode: 5, stdout: expect.stringMatching(fault) });
  }
  const logLines: string[] = [];
  const gateway = await startTestGateway({ settings: { seals: { events: 1, copyTo: backup } }, logLines });
  onTestFinished(() => gateway.stop());
  await expect.poll(() => logLines.join()).toContain(`${backup} is a backup`);
  expect(asItIs(backup)).toEqual(before);
});

it.each([
  ['a data folder on which no gateway has run', (data: string) => data, true],
  ['a backup of such a one', (_data: string, backup: string) => backup, true],
  ['its ledger’s file', (data: string) => join(data, 'ledger.db'), false],
])('%s has no journal to restore from: that is said, and nothing of it is to be moved away', async (_what, of, has) => {
  const folder = temporaryFolder();
  const [data, backup, restored] = [join(folder, 'data'), join(folder, 'backup'), join(folder, 'restored')];
  await runHere('--data', data, 'account', 'open', '--email', 'ada@example.com', '--id', 'acct_ada');
  await runHere('--data', data, 'ledger', 'backup', backup);
  const named = of(data, backup);
  const before = asItIs(folder);
  const said = await runHere('--data', restored, 'ledger', 'restore', backup, '--from-journal', named);
  const orLedger = has ? `; what its ledger has, --from-copy ${join(named, 'ledger.db')} puts back` : '';
  expect(said).toEqual({
    ...{ exitCode: 2, stdout: '' },
    stderr: `gateway: --from-journal ${named}: has no journal, and is none: name a data folder on which a gateway has run, or a journal of such a one${orLedger}\n`,
  });
  expect(asItIs(folder)).toEqual(before);
  const instead = ['--from-copy', join(data, 'ledger.db')];
  expect(await runHere('--data', restored, 'ledger', 'restore', backup, ...instead)).toMatchObject({ exitCode: 0 });
});
