import { mkdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { lockFolder } from '../../../ledger/journal/folder-lock.ts';
import { openJournal } from '../../../ledger/journal/open-journal.ts';
import { journalFolder, openedJournal } from '../../fixtures/ledger/journal-folder.ts';

test('a second opener is refused, not kept waiting, with the folder’s name, until the first has closed', async () => {
  const { directory, journal } = await openedJournal();
  await expect(openJournal({ directory })).rejects.toThrow(
    expect.objectContaining({
      name: 'JournalError',
      kind: 'in_use',
      message: `another gateway is using the data folder ${directory}`,
    }),
  );
  await journal.close();
  await openedJournal({ directory });
});

test('the folder is free again when opening it failed', async () => {
  const directory = journalFolder();
  mkdirSync(`${directory}/0000000001.journal`, { recursive: true });
  await expect(openJournal({ directory })).rejects.toThrow(expect.objectContaining({ kind: 'input_output' }));
  lockFolder(directory).release();
});
