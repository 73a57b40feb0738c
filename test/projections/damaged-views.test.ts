import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { ledgerId } from '../../contracts/ids.ts';
import { damageOf, setDamagedViewsAside, whyDamaged } from '../../projections/damaged-views.ts';
import { readKnownViews, writeLedgerOfViews } from '../../projections/known-views.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const folder = (): string => temporaryFolder();

describe("a damaged views' file", () => {
  it('takes what SQLite keeps beside it along: it would be read as part of the new one', () => {
    const path = join(folder(), 'views.db');
    for (const round of ['', '.2']) {
      for (const end of ['', '-wal', '-shm']) writeFileSync(path + end, `what${end}${round}`);
      expect(setDamagedViewsAside(path)).toBe(`${path}.damaged${round}`);
      for (const end of ['', '-wal', '-shm']) {
        expect(existsSync(path + end)).toBe(false);
        expect(readFileSync(`${path}.damaged${round}${end}`, 'utf8')).toBe(`what${end}${round}`);
      }
    }
  });
});

describe('a file that somebody else holds', () => {
  it('is not damaged: whoever looks is told that it is busy', () => {
    const path = join(folder(), 'views.db');
    const other = new DatabaseSync(path);
    other.exec('CREATE TABLE stored_view (name TEXT); BEGIN EXCLUSIVE');
    const reader = new DatabaseSync(path, { readOnly: true });
    let busy: unknown;
    try {
      reader.prepare('SELECT * FROM stored_view').all();
    } catch (error) {
      busy = error;
    }
    expect(() => whyDamaged(path, busy)).toThrow(/locked/);
    reader.close();
    other.exec('ROLLBACK');
    other.close();
    expect(damageOf(path)).toBeNull();
  });

  it.each([5, 6, 7, 10, 13, 14, 5 | (2 << 8)])(
    'or that the machine cannot read (code %i) is not, either',
    (errcode) => {
      const error = Object.assign(new Error('not the file'), { errcode });
      expect(() => whyDamaged(join(folder(), 'views.db'), error)).toThrow(error);
    },
  );

  it.each([11, 26])('is, where it is no database any more (code %i)', (errcode) => {
    expect(whyDamaged(join(folder(), 'views.db'), Object.assign(new Error('malformed'), { errcode }))).toBe(
      'malformed',
    );
  });
});

it('a folder in the place of the file is damage, too, and is set aside', () => {
  const path = join(folder(), 'views.db');
  mkdirSync(join(path, 'inner'), { recursive: true });
  expect(damageOf(path)).toBe('it is a folder');
  expect(existsSync(join(setDamagedViewsAside(path), 'inner'))).toBe(true);
  expect(existsSync(path)).toBe(false);
});

it('a ledger that is none in them is written over by the one that they are of', () => {
  const path = join(folder(), 'views.db');
  const identity = { ledgerId: ledgerId('ledger_1'), generation: 2 };
  writeLedgerOfViews(path, identity);
  for (const ruined of ['generation = 9007199254740993', 'generation = -1', "ledger_id = ''"]) {
    const database = new DatabaseSync(path);
    database.exec(`UPDATE of_ledger SET ${ruined}`);
    database.close();
    writeLedgerOfViews(path, identity);
    expect(readKnownViews(path)?.identity).toEqual(identity);
  }
});
