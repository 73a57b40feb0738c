import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { accountId } from '../../contracts/ids.ts';
import { openSqliteEventLog } from '../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { Projections } from '../../projections/projections.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { fillLedger, firstAccount } from './fill-ledger.ts';

async function filled(size: { accounts: number; events: number }) {
  const path = join(temporaryFolder(), 'ledger.db');
  const events = await fillLedger(path, size);
  const log = await openSqliteEventLog({ path });
  const projections = await Projections.start({ log, path: null, persist: false });
  onTestFinished(async () => {
    await projections.close();
    await log.close();
  });
  await projections.whenCaughtUp();
  return { events, head: await log.headPosition(), accounts: projections.accounts };
}

test('a ledger is filled with what views can be made of, in as many events as were asked for', async () => {
  const { events, head, accounts } = await filled({ accounts: 3, events: 102 });
  expect([events, head]).toEqual([102, 102]);
  const ids = [firstAccount, accountId('acct_filled1'), accountId('acct_filled2')];
  const found = ids.map((id) => accounts.read(id));
  expect(found.map(({ state }) => state.type)).toEqual(['open', 'open', 'open']);
  expect(ids.map((id) => accounts.whyAside(id))).toEqual([null, null, null]);
  // Revisions count from 0; the ledger's own identity and its catalog are no account's.
  expect(found.reduce((sum, { revision }) => sum + revision + 1, 0)).toBe(100);
});

test('accounts that do nothing are no more than born', async () => {
  const { events, accounts } = await filled({ accounts: 4, events: 0 });
  expect(events).toBe(18);
  const { state } = accounts.read(firstAccount);
  expect(state.type === 'open' && state.balance).toBe(1_005_000_000n);
});
