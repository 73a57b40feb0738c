import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { copyJournal } from '../../../ledger/backup/copy-journal.ts';
import { asideFolder } from '../../../ledger/journal/aside-folder.ts';
import { readBesideGateway } from '../../../ledger/journal/read-beside-gateway.ts';
import { openedJournal } from '../../fixtures/ledger/journal-folder.ts';
import { finishedOf, idOf, startOf } from '../../fixtures/ledger/numbered-requests.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';

it('a copy of a journal that is written to has all requests, those that are kept aside too, and no lock or reserve', async () => {
  const { journal, directory } = await openedJournal({ reserveBytes: 65_536 });
  for (const index of [0, 1]) {
    journal.begin(idOf(index), startOf(index));
    journal.finish(idOf(index), finishedOf(index));
  }
  journal.keepAside([idOf(0)]);
  await expect.poll(() => journal.asideBytes).toBeGreaterThan(0);
  await expect.poll(() => journal.open).toBe(2);
  const to = join(temporaryFolder(), 'journal');
  copyJournal(directory, to);
  expect(readBesideGateway(to).map(({ requestId }) => requestId)).toEqual([idOf(0), idOf(1)]);
  for (const folder of [to, asideFolder(to)])
    expect(readdirSync(folder).filter((name) => !name.endsWith('.journal'))).toEqual([]);
});
