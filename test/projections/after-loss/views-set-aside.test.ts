import { existsSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { ledgerId } from '../../../contracts/ids.ts';
import { setViewsAside } from '../../../projections/after-loss/views-set-aside.ts';
import { readLedgerOfViews, VIEWS_FILE, writeLedgerOfViews } from '../../../projections/known-views.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';

const OF = { ledgerId: ledgerId('ledger_019a5b3c00007000800000000000000a'), generation: 1 };

function folderWithViews() {
  const folder = temporaryFolder();
  const path = join(folder, VIEWS_FILE);
  writeLedgerOfViews(path, { ...OF, generation: 7 });
  return { folder, path };
}

const reading = (path: string) => new DatabaseSync(path, { readOnly: true });
const generationSeenBy = (database: DatabaseSync) => database.prepare('SELECT generation FROM of_ledger').get();

it('views that nobody has open are one file, which is read without making another', () => {
  const { folder } = folderWithViews();
  const aside = setViewsAside(folder, 2) ?? expect.fail();
  expect(readLedgerOfViews(aside)).toEqual({ ...OF, generation: 7 });
  expect(readdirSync(folder)).toEqual([basename(aside)]);
});

it.each(['has read', 'reads'])(
  'views are set aside beside somebody who %s them, with all that was written to them',
  (does) => {
    const { folder, path } = folderWithViews();
    const reader = reading(path);
    if (does === 'reads') reader.exec('BEGIN');
    expect(generationSeenBy(reader)).toEqual({ generation: 7 });
    // What is read on keeps this out of the file itself.
    writeLedgerOfViews(path, OF);
    const aside = setViewsAside(folder, 2) ?? expect.fail();
    expect(readLedgerOfViews(aside)).toEqual(OF);
    expect(generationSeenBy(reader)).toEqual({ generation: does === 'reads' ? 7 : 1 });
    expect([path, `${path}-wal`, `${path}-shm`].filter(existsSync)).toEqual([]);
    // Those of the new generation are not mixed with them.
    writeLedgerOfViews(path, { ...OF, generation: 2 });
    reader.close();
    expect(readLedgerOfViews(path)).toEqual({ ...OF, generation: 2 });
    expect(readLedgerOfViews(aside)).toEqual(OF);
  },
);
