import { chmodSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { isKept, leftOutOf } from '../../../../proxy/program/backup/data-folder-names.ts';
import { tightenFolder } from '../../../../proxy/program/serve/tighten-folder.ts';
import { temporaryFolder } from '../../../fixtures/temporary-folder.ts';
import { READMES } from '../../../source-files.ts';

const [, table = ''] = /\| in the data folder \|.*\n\|.*\n((?:\|.*\n)+)/.exec(READMES.get('README.md') ?? '') ?? [];
/** A `*` is any name's part. `-wal` and the like stand for what is beside the name before. */
const NAMES = [...table.matchAll(/^\| ([^|]+) \|/gm)].flatMap(([, cell = '']) =>
  [...cell.matchAll(/`([^`]+)`/g)].flatMap(([, name = '']) => (name.startsWith('-') ? [] : [name.replace('*', '2')])),
);
/** In a folder that a restore is made in nothing is backed up. */
const OTHERS = /^restore\./;

it('of everything that a data folder has it is known whether a backup has it, and why not', () => {
  expect(NAMES.length).toBeGreaterThan(18);
  const left = leftOutOf(
    NAMES.filter((name) => !OTHERS.test(name)),
    { isFile: true },
  );
  expect(left.filter(({ why }) => why.startsWith('no file'))).toEqual([]);
  expect(left.map(({ name }) => name)).toEqual([
    ...['operator-answer-2.json', 'operator-request-2.json', 'rebuild', 'seal-frontier.json', 'seal-key'],
    ...['seal-key.before-2', 'seal-key.next', 'views.db', 'views.db.damaged', 'views.previous.db'],
  ]);
  expect(left.filter(({ why }) => why.startsWith('a secret')).map(({ name }) => name)).toEqual([
    'seal-key',
    'seal-key.before-2',
    'seal-key.next',
  ]);
  expect(NAMES.filter(isKept)).toEqual(
    expect.arrayContaining(['ledger-id', 'refused.json', 'parked.json', 'views.db.before-generation-2']),
  );
});

it('where a server keeps the ledger views are in it, and what is left of a file is not', () => {
  expect(leftOutOf(['views.db', 'views.db-wal', 'ledger.db', 'ledger-id', 'mine.txt'], { isFile: false })).toEqual([
    { name: 'ledger.db', why: 'not where the ledger is' },
    { name: 'mine.txt', why: 'no file of this program' },
  ]);
});

it('of everything that a data folder has what others could read is closed to them', () => {
  const data = temporaryFolder();
  chmodSync(data, 0o755);
  for (const name of NAMES) {
    const isFolder = name.startsWith('journal') || name === 'rebuild';
    if (isFolder) mkdirSync(join(data, name), { mode: 0o755 });
    writeFileSync(isFolder ? join(data, name, 'one') : join(data, name), '', { mode: 0o644 });
  }
  expect(tightenFolder(data).loose).toEqual([]);
  expect(NAMES.filter((name) => (statSync(join(data, name)).mode & 0o077) !== 0)).toEqual([]);
  expect(statSync(data).mode & 0o077).toBe(0);
});
