import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { ledgerId } from '../../contracts/ids.ts';
import { lockFolder } from '../../ledger/journal/folder-lock.ts';
import { journalFolder } from '../../ledger/journal/segment-folder.ts';
import { damageOf } from '../../projections/damaged-views.ts';
import { readFoldedThrough, writeLedgerOfViews } from '../../projections/known-views.ts';
import { viewFilesOf } from '../../projections/view-files.ts';
import { BALANCE_TABLE } from '../fixtures/ledger/balance-table.ts';
import { ruinPages } from '../fixtures/ledger/views-pages.ts';
import { runHere, runHereForJson } from '../fixtures/processes/run-here.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const opened = async (data: string, id: string) =>
  expect(await runHere('account', 'open', '--email', 'ada@example.com', '--id', id, '--data', data)).toMatchObject({
    exitCode: 0,
  });
const rebuild = (data: string, ...more: string[]) => runHere('projections', 'rebuild', '--data', data, ...more);

let whole = '';
/** Views of a ledger with one account, that no gateway has on it. */
beforeAll(async () => {
  whole = temporaryFolder();
  await opened(whole, 'acct_ada');
  await runHereForJson('projections', 'rebuild', '--all', '--data', whole);
});

function folder() {
  const data = temporaryFolder();
  cpSync(whole, data, { recursive: true });
  return { data, files: viewFilesOf(data) };
}

function change(file: string, sql: string): void {
  const database = new DatabaseSync(file);
  database.exec(sql);
  database.close();
}

const emailIn = (file: string): unknown => {
  const database = new DatabaseSync(file, { readOnly: true });
  const row = database.prepare(`SELECT email FROM ${BALANCE_TABLE}`).get();
  database.close();
  return row?.email;
};

it('views that are not what the log says are not switched to, and are made from the beginning where that is asked for', async () => {
  const { data, files } = folder();
  mkdirSync(files.rebuildFolder, { recursive: true });
  const leaveWrong = (): void => {
    cpSync(files.live, files.rebuild);
    change(files.rebuild, `UPDATE ${BALANCE_TABLE} SET email = 'eve@example.com'`);
  };
  leaveWrong();
  expect(await rebuild(data, '--all')).toMatchObject({
    exitCode: 5,
    stderr: expect.stringMatching(
      /is not switched to:\nbalance_v\d+ acct_ada: email is eve@example\.com, a fold .* ada@/,
    ),
  });
  // Nobody goes on with it.
  expect([emailIn(files.live), existsSync(files.rebuild)]).toEqual(['ada@example.com', false]);
  leaveWrong();
  expect(await rebuild(data, '--all', '--anew')).toMatchObject({ exitCode: 0 });
  expect(emailIn(files.live)).toBe('ada@example.com');
});

it('one command at a time makes views anew', async () => {
  const { data, files } = folder();
  mkdirSync(files.rebuildFolder, { recursive: true });
  const lock = lockFolder(files.rebuildFolder);
  onTestFinished(() => lock.release());
  for (const command of [['rebuild', '--all'], ['rollback']])
    expect(await runHere('projections', ...command, '--data', data)).toMatchObject({
      ...{ exitCode: 3, stderr: expect.stringContaining('another command rebuilds') },
    });
});

it('views from a topic are neither made anew beside the live ones nor gone back to, with what to do instead', async () => {
  const { data, files } = folder();
  cpSync(files.live, files.previous);
  const config = join(data, 'gateway.json');
  const kafka = { brokers: ['127.0.0.1:1'], topic: 'ledger', partitions: 1 };
  writeFileSync(config, JSON.stringify({ data, kafka, projections: { source: 'kafka' } }));
  const before = readFileSync(files.live);
  for (const command of [['rebuild', '--all'], ['rebuild', 'monthly'], ['rebuild', '--all', '--dry-run'], ['rollback']])
    expect(await runHere('--config', config, 'projections', ...command)).toMatchObject({
      ...{ exitCode: 3, stdout: '' },
      stderr: expect.stringMatching(/fed from a topic: .* move views\.db away .*`gateway projections diff` compares/),
    });
  expect(readFileSync(files.live).equals(before)).toBe(true);
  expect([existsSync(files.rebuild), existsSync(files.previous)]).toEqual([false, true]);
});

it.each([
  ['that is another one', 'nothing is made of it. Where it is the right one, and views.db alone says otherwise'],
  ['that lacks what they know', 'nothing is made of it\n'],
] as const)('nothing is made of, or compared with, a ledger %s', async (what, says) => {
  const [{ data }, other] = [folder(), temporaryFolder()];
  if (what === 'that is another one') await opened(other, 'acct_eve');
  else {
    cpSync(join(data, 'ledger.db'), join(other, 'ledger.db'));
    await opened(data, 'acct_eve');
    await runHereForJson('projections', 'rebuild', '--all', '--data', data);
  }
  for (const end of ['', '-wal', '-shm', '-pair']) rmSync(join(data, `ledger.db${end}`), { force: true });
  cpSync(join(other, 'ledger.db'), join(data, 'ledger.db'));
  for (const [command, said] of [
    ['rebuild', says],
    ['diff', 'nothing can be compared'],
  ] as const)
    expect(await runHere('projections', command, '--all', '--data', data)).toMatchObject({
      ...{ exitCode: 3, stderr: expect.stringContaining(said) },
    });
});

it('one view alone is not made anew beside others that this program cannot read', async () => {
  const { data, files } = folder();
  change(files.live, `UPDATE stored_view SET version = 99 WHERE name = 'balance'`);
  expect(await rebuild(data, 'monthly')).toMatchObject({
    ...{ exitCode: 3, stderr: expect.stringContaining('--all') },
  });
});

it('there is a way back only to views of the ledger as it is', async () => {
  const { data, files } = folder();
  const back = () => runHere('projections', 'rollback', '--data', data);
  rmSync(files.previous, { force: true });
  expect(await back()).toMatchObject({ exitCode: 3, stderr: expect.stringContaining('no views of before') });
  cpSync(files.live, files.previous);
  writeLedgerOfViews(files.previous, { ledgerId: ledgerId('ledger_019a5b3c00007000800000000000000b'), generation: 1 });
  expect(await back()).toMatchObject({ exitCode: 3, stderr: expect.stringContaining('rebuild instead') });
  expect(emailIn(files.live)).toBe('ada@example.com');
});

it('where a publication in the views of before is damaged, that is said of them, and not of the ledger', async () => {
  const { data, files } = folder();
  const catalog = fileURLToPath(new URL('../../contracts/example-catalog.yaml', import.meta.url));
  expect(await runHere('catalog', 'publish', catalog, '--data', data)).toMatchObject({ exitCode: 0 });
  expect(await rebuild(data, '--all')).toMatchObject({ exitCode: 0 });
  cpSync(files.live, files.previous);
  change(
    files.previous,
    `UPDATE catalog_v4 SET publication = json_set(publication, '$.models[0].rateCard.version', 99)`,
  );
  expect(await runHere('projections', 'rollback', '--data', data)).toMatchObject({
    exitCode: 3,
    stderr: expect.stringMatching(/views\.previous\.db, the views that are kept .* \(.*\): rebuild instead\n$/),
  });
});

const GARBAGE = Buffer.alloc(8_192, 'no database');
const DAMAGES: readonly (readonly [string, (file: string) => void])[] = [
  ['random bytes', (file) => writeFileSync(file, GARBAGE)],
  ['nothing', (file) => truncateSync(file, 0)],
  ['its first pages', (file) => truncateSync(file, 20_480)],
];

it.each(DAMAGES)(
  'where views.db holds %s both other views and those of before take its place',
  async (_what, damage) => {
    for (const command of [['rebuild', '--all'], ['rollback']]) {
      const { data, files } = folder();
      cpSync(files.live, files.previous);
      const before = readFoldedThrough(files.previous);
      damage(files.live);
      // A gateway that has it open cannot go over to others, and says so at its next start.
      mkdirSync(journalFolder(data), { recursive: true });
      const lock = lockFolder(journalFolder(data));
      expect(await runHere('projections', ...command, '--data', data)).toMatchObject({
        ...{ exitCode: 3, stderr: expect.stringMatching(/cannot be read as views .*: restart that/) },
      });
      lock.release();
      expect(existsSync(`${files.live}.damaged`)).toBe(false);
      expect(await runHere('projections', ...command, '--data', data)).toMatchObject({
        ...{ exitCode: 0, stdout: expect.stringMatching(/cannot be relied on \(.*\): nobody goes back to it/) },
      });
      expect(emailIn(files.live)).toBe('ada@example.com');
      expect(existsSync(`${files.live}.damaged`)).toBe(true);
      // The good ones are not pushed away by what is none.
      if (command[0] === 'rebuild') expect(readFoldedThrough(files.previous)).toEqual(before);
    }
  },
);

it('where a page of views.db is damaged, which its beginning does not show, the others take its place, all of them', async () => {
  const { data, files } = folder();
  ruinPages(files.live, 'ada@example.com');
  expect(damageOf(files.live)).toBeNull();
  expect(await rebuild(data, 'monthly')).toMatchObject({
    ...{ exitCode: 3, stderr: expect.stringMatching(/is damaged \(.*malformed.*\): --all/) },
  });
  expect(await rebuild(data, '--all')).toMatchObject({
    ...{ exitCode: 0, stdout: expect.stringMatching(/nothing was compared\n.*malformed\): nobody goes back to it/) },
  });
  expect(emailIn(files.live)).toBe('ada@example.com');
  expect([existsSync(`${files.live}.damaged`), existsSync(files.previous)]).toEqual([true, false]);
  cpSync(`${files.live}.damaged`, files.previous);
  expect(await runHere('projections', 'rollback', '--data', data)).toMatchObject({
    ...{ exitCode: 3, stderr: expect.stringContaining('rebuild instead') },
  });
});

it('files of views beside the live ones that are damaged are made anew, or refused with a way out', async () => {
  const { data, files } = folder();
  mkdirSync(files.rebuildFolder, { recursive: true });
  for (const file of [files.rebuild, files.previous]) writeFileSync(file, GARBAGE);
  expect(await runHere('projections', 'rollback', '--data', data)).toMatchObject({
    ...{ exitCode: 3, stderr: expect.stringContaining('rebuild instead') },
  });
  expect(await rebuild(data, '--all')).toMatchObject({ exitCode: 0 });
  writeFileSync(files.live, GARBAGE);
  expect(await runHere('projections', 'diff', '--all', '--data', data)).toMatchObject({
    ...{ exitCode: 4, stderr: expect.stringContaining('rebuild them') },
  });
});

it('views that hold nothing yet are not kept as those of before', async () => {
  const { data, files } = folder();
  cpSync(files.live, files.previous);
  const before = readFoldedThrough(files.previous);
  change(files.live, 'DELETE FROM checkpoint');
  expect(await rebuild(data, '--all')).toMatchObject({ exitCode: 0 });
  expect(readFoldedThrough(files.previous)).toEqual(before);
});
