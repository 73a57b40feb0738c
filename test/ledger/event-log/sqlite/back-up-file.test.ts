import { readdirSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it, onTestFinished } from 'vitest';
import { backUpFile } from '../../../../ledger/event-log/sqlite/back-up-file.ts';
import { canMount, smallDisk } from '../../../fixtures/ledger/small-disk.ts';
import { temporaryFolder } from '../../../fixtures/temporary-folder.ts';

/** Some steps of a backup. */
const ROWS = 3_000;

function writtenFile(): { folder: string; path: string; write: () => void } {
  const folder = temporaryFolder();
  const path = join(folder, 'a.db');
  const database = new DatabaseSync(path);
  onTestFinished(() => database.close());
  database.exec('PRAGMA journal_mode = WAL; CREATE TABLE written (id INTEGER PRIMARY KEY, text TEXT); BEGIN');
  const insert = database.prepare('INSERT INTO written (text) VALUES (?)');
  for (let row = 0; row < ROWS; row++) insert.run('x'.repeat(4_000));
  database.exec('COMMIT');
  return { folder, path, write: () => insert.run('later') };
}

it('a file that is written to is copied as it was when the copy began, and is not begun anew', async () => {
  const { folder, path, write } = writtenFile();
  const told: number[] = [];
  const copy = join(folder, 'b.db');
  await backUpFile(path, copy, (pages, of) => {
    told.push(pages);
    expect(of).toBeGreaterThan(ROWS);
    // One that began anew with each write would have no end.
    if (told.length < 20) write();
  });
  expect(told.length).toBeGreaterThan(1);
  expect(told.every((pages) => pages > 0)).toBe(true);
  const copied = new DatabaseSync(copy, { readOnly: true });
  onTestFinished(() => copied.close());
  expect(copied.prepare('SELECT count(*) AS rows, max(text) AS text FROM written').get()).toEqual({
    ...{ rows: ROWS, text: 'x'.repeat(4_000) },
  });
  expect(readdirSync(folder).filter((name) => name.startsWith('b.db'))).toEqual(['b.db']);
});

it.runIf(canMount)('where the copy has no room it is the copy that is named, not the file that is whole', async () => {
  const { path } = writtenFile();
  const copy = join(dirname(smallDisk(1_024).folder), 'b.db');
  await expect(backUpFile(path, copy)).rejects.toMatchObject({
    kind: 'unavailable',
    message: `${copy}: database or disk is full: make room on the disk of ${dirname(copy)}, which has 0 MiB free`,
  });
});

it('a file that cannot be read, or is another one at the end, is no backup', async () => {
  const { folder, path } = writtenFile();
  await expect(backUpFile(join(folder, 'none.db'), join(folder, 'c.db'))).rejects.toMatchObject({
    kind: 'unavailable',
  });
  writeFileSync(join(folder, 'other.db'), 'something else, long enough to be looked at as a database file');
  await expect(backUpFile(join(folder, 'other.db'), join(folder, 'd.db'))).rejects.toMatchObject({ kind: 'invalid' });
  await expect(
    backUpFile(path, join(folder, 'e.db'), () => {
      if (readdirSync(folder).includes('moved.db')) return;
      renameSync(path, join(folder, 'moved.db'));
    }),
  ).rejects.toThrow(/is not at its place any more/);
});
