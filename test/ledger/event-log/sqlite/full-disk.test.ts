import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openSqliteEventLog } from '../../../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { canMount, smallDisk } from '../../../fixtures/ledger/small-disk.ts';

it.runIf(canMount)(
  'a log on a full disk is not opened in words of a disk, with the way out, and is opened when there is room',
  async () => {
    const disk = smallDisk(1_024);
    mkdirSync(disk.folder);
    const path = join(disk.folder, 'ledger.db');
    await (await openSqliteEventLog({ path })).close();
    disk.leaveFree(0);
    await expect(openSqliteEventLog({ path })).rejects.toThrow(
      /ledger\.db: (disk I\/O error|database or disk is full|unable to open database file): make room on the disk of \S+, which has 0 MiB free$/,
    );
    disk.clear();
    await (await openSqliteEventLog({ path })).close();
  },
);
