import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { accountId, accountStream, eventId, LEDGER_STREAM, NO_STREAM, revision } from '../../../../contracts/ids.ts';
import { endFile } from '../../../../ledger/event-log/sqlite/end-file.ts';
import { openSqliteEventLog } from '../../../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { endedLater } from '../../../fixtures/ended-later.ts';
import { temporaryFolder } from '../../../fixtures/temporary-folder.ts';

const ADA = accountStream(accountId('ada'));
const proposed = (number: number) => ({
  id: eventId(`00000000-0000-4000-8000-${String(number).padStart(12, '0')}`),
  ...{ type: 'Counted', data: `{"number":${number}}`, metadata: '{}' },
});

it('a file that has ended takes nothing more from whoever has it open, and shows what it has', async () => {
  const path = join(temporaryFolder(), 'ledger.db');
  const log = endedLater(await openSqliteEventLog({ path }));
  await log.append(ADA, NO_STREAM, [proposed(1)]);
  const heads: unknown[] = [];
  const of = (head: unknown) => {
    heads.push(head);
    return { ...proposed(2), type: 'LedgerMoved' };
  };
  // Somebody else has written to the stream in between.
  expect(endFile(path, { stream: LEDGER_STREAM, expected: revision(3), of })).toBe(false);
  expect(await log.append(ADA, revision(0), [proposed(3)])).toMatchObject({ type: 'appended' });

  expect(endFile(path, { stream: LEDGER_STREAM, expected: NO_STREAM, of })).toBe(true);
  expect(heads.at(-1)).toMatchObject({ stream: ADA, revision: 1, id: proposed(3).id });
  await expect(log.append(ADA, revision(1), [proposed(4)])).rejects.toMatchObject({
    ...{ kind: 'unavailable', message: expect.stringContaining('has moved to another log') },
  });
  // What was written before is still found to be there.
  expect(await log.append(ADA, revision(0), [proposed(3)])).toMatchObject({ type: 'appended', position: 2 });
  const again = endedLater(await openSqliteEventLog({ path, isServedFrom: true }));
  expect((await Array.fromAsync(again.readAll())).map(({ stream, id }) => [stream, id])).toEqual([
    [ADA, proposed(1).id],
    [ADA, proposed(3).id],
    [LEDGER_STREAM, proposed(2).id],
  ]);
});

it('a file in which somebody else has a trigger of that name is refused', async () => {
  const path = join(temporaryFolder(), 'ledger.db');
  await (await openSqliteEventLog({ path })).close();
  const database = new DatabaseSync(path);
  database.exec('CREATE TRIGGER nothing_follows BEFORE INSERT ON event BEGIN SELECT 1; END');
  database.close();
  await expect(openSqliteEventLog({ path })).rejects.toMatchObject({ kind: 'invalid' });
});
