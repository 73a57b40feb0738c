import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { decodeEvent } from '../../../contracts/event-codec.ts';
import { openSqliteEventLog } from '../../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { AccountViews } from '../../../projections/account-views.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';
import { openBenchAccounts } from './bench-accounts.ts';
import { SettlementLoad } from './settlement-load.ts';

test('what is counted as settled is in the ledger, usage and debit, once each', async () => {
  const log = await openSqliteEventLog({ path: join(temporaryFolder(), 'ledger.db') });
  try {
    const repository = new AccountViews();
    const accounts = await openBenchAccounts(log, repository, { prefix: 'bench', count: 20 });
    const failures: string[] = [];
    const load = new SettlementLoad(log, repository, (reason) => failures.push(reason));
    load.mark();
    load.start(accounts);
    await setTimeout(100);
    await load.stop();
    const window = load.read();
    const events = [];
    for await (const recorded of log.readAll()) events.push(decodeEvent(recorded));
    const usages = events.filter(({ type }) => type === 'UsageRecorded');
    const debits = events.filter(({ type }) => type === 'CreditsDebited');
    expect(failures).toEqual([]);
    expect([usages.length, debits.length]).toEqual([window.settled, window.settled]);
    expect(window.settled).toBeGreaterThanOrEqual(1_000);
    expect(window.appends).toBeLessThan(window.settled);
    expect(new Set(events.filter(({ type }) => type === 'AccountOpened')).size).toBe(20);
  } finally {
    await log.close();
  }
});

test('accounts are not opened on a log that has them', async () => {
  const log = await openSqliteEventLog({ path: join(temporaryFolder(), 'ledger.db') });
  try {
    await openBenchAccounts(log, new AccountViews(), { prefix: 'bench', count: 1 });
    await expect(openBenchAccounts(log, new AccountViews(), { prefix: 'bench', count: 1 })).rejects.toThrow('fresh');
  } finally {
    await log.close();
  }
});
