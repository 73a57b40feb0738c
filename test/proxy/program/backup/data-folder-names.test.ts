import { expect, it } from 'vitest';
import { isKept, leftOutOf } from '../../../../proxy/program/backup/data-folder-names.ts';
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
    ...['seal-frontier.json', 'seal-key', 'seal-key.next', 'views.db', 'views.db.damaged'],
  ]);
  expect(left.filter(({ why }) => why.startsWith('a secret')).map(({ name }) => name)).toEqual([
    'seal-key',
    'seal-key.next',
  ]);
  expect(NAMES.filter(isKept)).toEqual(
    expect.arrayContaining(['ledger-id', 'refused.json', 'views.db.before-generation-2']),
  );
});

it('where a server keeps the ledger views are in it, and what is left of a file is not', () => {
  expect(leftOutOf(['views.db', 'views.db-wal', 'ledger.db', 'ledger-id', 'mine.txt'], { isFile: false })).toEqual([
    { name: 'ledger.db', why: 'not where the ledger is' },
    { name: 'mine.txt', why: 'no file of this program' },
  ]);
});
