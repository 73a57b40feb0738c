import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { OutFile, TakenPathError } from '../../../ledger/export/out-file.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';

it('a name that is taken is refused before any work, and one that somebody takes meanwhile stays theirs', async () => {
  const folder = temporaryFolder();
  const path = join(folder, 'books');
  const writing = OutFile.write(path, async (file) => {
    await file.write('ours');
    writeFileSync(path, 'theirs');
  });
  await expect(writing).rejects.toThrow(TakenPathError);
  let worked = false;
  const again = OutFile.write(path, async () => {
    worked = true;
  });
  await expect(again).rejects.toThrow(`${path}: is there already`);
  expect([worked, readFileSync(path, 'utf8'), readdirSync(folder)]).toEqual([false, 'theirs', ['books']]);
});
