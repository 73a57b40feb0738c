import pino from 'pino';
import { expect, test } from 'vitest';
import { accountId, revision } from '../../contracts/ids.ts';
import { LIMITS } from '../../contracts/limits.ts';
import { microUsd } from '../../contracts/money.ts';
import { AccountViews } from '../../projections/account-views.ts';
import { BalanceView } from '../../projections/balance-view.ts';
import { ExpirySweeper } from '../../proxy/expiry-sweeper.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { granted, ms, opened } from '../fixtures/ledger/example-account.ts';
import { LogWithOutages } from '../fixtures/ledger/log-with-outages.ts';
import { MemoryEventLog } from '../fixtures/ledger/memory-event-log.ts';
import { storedRows } from '../projections/stored-rows.ts';

const { expiryLoadsPerTurn } = LIMITS;
const END = '2026-11-21T12:00:00.000Z';

test('accounts whose credits end together are brought in several turns, so that requests go on meanwhile', async () => {
  const written = new BalanceView();
  const count = 3 * expiryLoadsPerTurn + 1;
  for (let number = 0; number < count; number++)
    for (const [at, event] of [opened, granted('g', 5, { expiresAt: END })].entries())
      written.apply(accountId(`a${number}`), revision(at), event);
  const rows = storedRows(written.takeChanges());
  const accounts = new AccountViews();
  const [table] = accounts.balance.tables;
  let turn = 0;
  const loadsByTurn = new Map<number, number>();
  accounts.balance.restore({
    all: rows.all,
    of: (from, first, decode) => {
      if (from === table) loadsByTurn.set(turn, (loadsByTurn.get(turn) ?? 0) + 1);
      return rows.of(from, first, decode);
    },
  });
  await accounts.survey();
  const sweeper = endedLater(
    new ExpirySweeper({
      ...{ log: new MemoryEventLog(), accounts, lateMs: 0, mayWrite: () => true, logger: pino({ level: 'silent' }) },
      clock: () => ms(END),
      // Requests of all of them are under way: nothing is written.
      holds: { ofAccount: () => microUsd(1n) },
    }),
  );
  let isOver = false;
  setImmediate(function count() {
    turn++;
    if (!isOver) setImmediate(count);
  });
  expect(await sweeper.sweep()).toBe(0);
  isOver = true;
  expect([...loadsByTurn.values()]).toEqual([expiryLoadsPerTurn, expiryLoadsPerTurn, expiryLoadsPerTurn, 1]);
});

test('while the log is away a sweep ends with the first account, and tells it once', async () => {
  const accounts = new AccountViews();
  for (const id of ['a0', 'a1', 'a2'])
    for (const [at, event] of [opened, granted('g', 5, { expiresAt: END })].entries())
      accounts.fold(accountId(id), revision(at), event);
  const log = new LogWithOutages();
  await log.goAway();
  const lines: string[] = [];
  const logger = pino({}, { write: (line: string) => void lines.push(JSON.parse(line).msg) });
  const holds = { ofAccount: () => microUsd(0n) };
  const sweeper = endedLater(
    new ExpirySweeper({ ...{ log, accounts, holds, lateMs: 0, mayWrite: () => true, logger }, clock: () => ms(END) }),
  );
  expect(await sweeper.sweep()).toBe(0);
  expect(lines).toEqual(['expired credits were not written down']);
});
