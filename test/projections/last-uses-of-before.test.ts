import { cpSync, mkdirSync } from 'node:fs';
import { expect, it } from 'vitest';
import { accountInFile } from '../../projections/account-in-file.ts';
import { readUpcastFrom } from '../../projections/known-views.ts';
import { takePreparedViews } from '../../projections/prepared-views.ts';
import { compareFiles } from '../../projections/rebuild/compare-files.ts';
import { compareWithFold } from '../../projections/rebuild/compare-with-fold.ts';
import type { RowDifference } from '../../projections/rebuild/row-difference.ts';
import { viewFilesOf } from '../../projections/view-files.ts';
import type { MemoryEventLog } from '../fixtures/ledger/memory-event-log.ts';
import { toMonthlyVersion2 } from '../fixtures/ledger/older-views.ts';
import { inTurnsThroughout } from '../fixtures/ledger/turns.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { dump, execute, writeLives } from './example-ledger.ts';
import { A, ALL, caughtUp, LIVES, logOf, written } from './started-projections.ts';

inTurnsThroughout();

const usesIn = (path: string): string[] => dump(path).filter((row) => row.startsWith('monthly_v3_last_use '));
/** What no view of version 2 knew, and what says so. */
const others = (path: string): string[] => dump(path).filter((row) => !/^(monthly_v3_last_use|upcast_from) /.test(row));
const HALF = Math.floor(ALL / 2);

/** A folder whose live views are made of a monthly view of version 2 that held half of the lives; all of them in its log. */
async function madeOfBefore() {
  const log = logOf(0, HALF);
  const files = viewFilesOf(temporaryFolder());
  mkdirSync(files.rebuildFolder);
  await written(log, files.live);
  toMonthlyVersion2(files.live);
  await expectNoDifference(files.live, log);
  const [onUnmade, onUnkept] = [expect.fail, expect.fail];
  const from = await takePreparedViews({ files, keepFreeBytes: 0, onUnmade, onUnkept }, new AbortController().signal);
  expect(from).toEqual({ type: 'upcast', from: new Map([['monthly', 2]]) });
  writeLives(log, LIVES, HALF, ALL);
  await written(log, files.live);
  const folded = await written(log);
  return { log, files, folded };
}

/** Also of rows that nothing was made of yet. */
async function expectNoDifference(path: string, log: MemoryEventLog): Promise<void> {
  const found: RowDifference[] = [];
  const compared = await compareWithFold({ path, log, only: null, onDifference: (one) => found.push(one) });
  expect([compared?.rows, found]).toEqual([expect.any(Number), []]);
}

it('views of before know no last use of before, say of no account when its keys were used, and have all else', async () => {
  const { log, files, folded } = await madeOfBefore();
  expect(readUpcastFrom(files.live).size).toBe(1);
  expect(others(files.live)).toEqual(others(folded));
  expect(usesIn(folded).length).toBeGreaterThan(LIVES.size);
  expect(usesIn(files.live)).not.toEqual(usesIn(folded));
  expect([accountInFile(files.live, A), accountInFile(folded, A)]).toEqual([null, expect.anything()]);
  // Once they are folded, they know them.
  cpSync(folded, files.live);
  const { projections } = await caughtUp(log, files.live);
  expect([...projections.accounts.monthly.lastUsesOf(A)]).not.toEqual([]);
});

it('what they cannot know is no difference, neither to a fold of the log nor to views that are rebuilt beside them; all else is', async () => {
  const { log, files, folded } = await madeOfBefore();
  const found: RowDifference[] = [];
  const compared = async () => {
    found.length = 0;
    const onDifference = (difference: RowDifference) => found.push(difference);
    expect(await compareWithFold({ path: files.live, log, only: null, onDifference })).not.toBe(null);
    compareFiles({ live: files.live, rebuilt: folded }, onDifference);
    return found.map(({ table }) => table);
  };
  expect(await compared()).toEqual([]);
  execute(files.live, `UPDATE monthly_v3 SET count = '77' WHERE account_id = '${A}'`);
  expect(new Set(await compared())).toEqual(new Set(['monthly_v3']));
  // Of views that were folded it is one.
  cpSync(folded, files.live);
  execute(files.live, `UPDATE monthly_v3_last_use SET last_used_at = '2020-01-01T00:00:00.000Z'`);
  expect(new Set(await compared())).toEqual(new Set(['monthly_v3_last_use']));
});
