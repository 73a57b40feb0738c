import { expect, it } from 'vitest';
import { LastUses } from '../../ledger/account/last-uses.ts';
import { loadAccount, UNOPENED } from '../../ledger/account/load-account.ts';
import { accountInFile } from '../../projections/account-in-file.ts';
import type { MemoryEventLog } from '../fixtures/ledger/memory-event-log.ts';
import { inTurnsThroughout, passing } from '../fixtures/ledger/turns.ts';
import { execute, viewsFile, writeLives } from './example-ledger.ts';
import { A, ALL, caughtUp, LIVES, logOf, written } from './started-projections.ts';

inTurnsThroughout();

const HALF = Math.floor(ALL / 2);

/** From a file on where there is one, else from the stream's beginning. */
async function read(log: MemoryEventLog, id: typeof A, path: string | null) {
  const known = path === null ? null : accountInFile(path, id);
  const lastUses = known?.lastUses ?? new LastUses();
  const from = known?.snapshot ?? UNOPENED;
  const { state, revision } = await loadAccount(log, id, from, (event) => void lastUses.take(event));
  return { state, revision, lastUses: [...lastUses].sort(), from: from.revision };
}

it('an account is what a fold of its stream is, with its last uses, when the stream’s rest is folded onto it', async () => {
  const log = logOf(0, HALF);
  const path = await written(log);
  writeLives(log, LIVES, HALF, ALL);
  let used = 0;
  for (const id of LIVES.keys()) {
    const { from, ...account } = await read(log, id, path);
    const { from: _, ...folded } = await read(log, id, null);
    expect(from).toBe(HALF - 1);
    expect(account).toEqual(folded);
    used += account.lastUses.length;
  }
  expect(used).toBeGreaterThan(LIVES.size);
});

it('also while views write on to the file', async () => {
  const log = logOf(0, HALF);
  const path = viewsFile();
  const { projections } = await caughtUp(log, path);
  await passing(projections.whenWritten());
  writeLives(log, LIVES, HALF, ALL);
  await passing(projections.whenCaughtUp());
  const folded = await read(log, A, null);
  const { from, ...account } = await read(log, A, path);
  expect(from).toBeGreaterThan(0);
  expect({ ...account, from: -1 }).toEqual(folded);
});

it.each([
  ['it is not there', null],
  ['nothing is folded in it', 'DELETE FROM checkpoint'],
  ['it is of another version', `UPDATE stored_view SET version = 1 WHERE name = 'monthly'`],
  [
    'a view is made of rows of before',
    "CREATE TABLE upcast_from (name TEXT, version INTEGER); INSERT INTO upcast_from VALUES ('monthly', 2)",
  ],
  ['it does not know the account', `DELETE FROM monthly_v3_revision WHERE account_id = 'a0'`],
  ['its uses are behind the rest', `UPDATE monthly_v3_revision SET revision = revision - 1`],
  ['it has the account aside', `INSERT INTO set_aside_v1 VALUES ('a0', 'unreadable', 3, 'an event', 1)`],
])('it says nothing of an account where %s', async (_, sql) => {
  const path = await written(logOf());
  expect(accountInFile(path, A)).not.toBe(null);
  if (sql !== null) execute(path, sql);
  expect(accountInFile(sql === null ? viewsFile() : path, A)).toBe(null);
});

it('a row that is not of its form is told', async () => {
  const path = await written(logOf());
  execute(path, `UPDATE monthly_v3_revision SET revision = -7 WHERE account_id = 'a0'`);
  expect(() => accountInFile(path, A)).toThrow('expected a revision');
});
