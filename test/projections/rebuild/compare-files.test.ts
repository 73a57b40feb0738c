import { cpSync } from 'node:fs';
import { beforeEach, expect, test } from 'vitest';
import { compareFiles } from '../../../projections/rebuild/compare-files.ts';
import type { RowDifference } from '../../../projections/rebuild/row-difference.ts';
import { BALANCE_TABLE } from '../../fixtures/ledger/balance-table.ts';
import { inTurnsThroughout } from '../../fixtures/ledger/turns.ts';
import { execute, viewsFile, writeLives } from '../example-ledger.ts';
import { ALL, LIVES, logOf, written } from '../started-projections.ts';

inTurnsThroughout();

/** Of all events, and of the first ones; made by the first test. */
let [whole, early] = ['', ''];
beforeEach(async () => {
  if (whole !== '') return;
  const log = logOf(0, 9);
  early = await written(log);
  writeLives(log, LIVES, 9, ALL);
  whole = await written(log);
});

/** Each account in each of the two views of accounts. */
const ALL_OF_THEM = 2 * LIVES.size;

function copyOf(file: string, change = ''): string {
  const changed = viewsFile();
  cpSync(file, changed);
  if (change !== '') execute(changed, change);
  return changed;
}

/** What is told, by the row and what the live one has in it. */
function compared(live: string, rebuilt: string) {
  const differences: string[] = [];
  const onDifference = ({ table, key, field, live, fold }: RowDifference): void =>
    void differences.push(`${table} ${key.join(' ')} ${field ?? 'row'}: ${live ?? '-'}, ${fold ?? '-'}`);
  return { ...compareFiles({ live, rebuilt }, onDifference), differences };
}

test('files of the same events have no difference', () => {
  expect(compared(whole, copyOf(whole))).toEqual({
    compared: ALL_OF_THEM,
    movedOn: 0,
    setAside: 0,
    upcastFrom: {},
    differences: [],
  });
});

test('each value that is another one is told, each row that one of them lacks, and who is set aside by one alone', () => {
  const live = copyOf(
    whole,
    `UPDATE ${BALANCE_TABLE} SET balance_micro_usd = '7' WHERE account_id = 'a0';
     INSERT INTO monthly_v3 VALUES ('a1', '2020-01', 'm', 'input', 'standard', 1, '1', '1', 1);
     DELETE FROM monthly_v3_revision WHERE account_id = 'a2';
     INSERT INTO set_aside_v1 VALUES ('a9', 'unreadable', 3, 'poison', 1)`,
  );
  const { differences, ...rest } = compared(live, whole);
  expect(differences).toEqual([
    expect.stringMatching(/^balance_v\d+ a0 balance_micro_usd: 7, -?\d+$/),
    'monthly_v3 a1 2020-01 m input standard row: ["1","1","1"], -',
    expect.stringMatching(/^monthly_v3_revision a2 row: -, \["\d+"\]$/),
    'set_aside_v1 a9 unreadable row: ["3","poison"], -',
  ]);
  expect(rest).toEqual({ compared: ALL_OF_THEM, movedOn: 0, setAside: 0, upcastFrom: {} });
});

test('what one of them has more because it went on is no difference, and is counted, also accounts that it alone has', () => {
  expect(compared(whole, early)).toMatchObject({ movedOn: ALL_OF_THEM, differences: [] });
  expect(compared(early, whole)).toMatchObject({ movedOn: ALL_OF_THEM, differences: [] });
  const other = copyOf(
    whole,
    `DELETE FROM ${BALANCE_TABLE} WHERE account_id = 'a0'; DELETE FROM monthly_v3_revision WHERE account_id = 'a0'`,
  );
  expect(compared(whole, other)).toMatchObject({ compared: ALL_OF_THEM - 2, movedOn: 2, differences: [] });
});

test('an account that is behind in live views that have come further is a difference', () => {
  const live = copyOf(whole, `UPDATE ${BALANCE_TABLE} SET revision = 0 WHERE account_id = 'a0'`);
  expect(compared(live, whole).differences).toEqual([expect.stringMatching(/^balance_v\d+ a0 revision: 0, \d+$/)]);
});

test('of who is parked, or hidden, no fold says what is to be there', () => {
  const aside = (cause: string, why: string): string =>
    `INSERT INTO set_aside_v1 VALUES ('a0', '${cause}', 1, '${why}', 1);
     UPDATE ${BALANCE_TABLE} SET balance_micro_usd = '7' WHERE account_id = 'a0'`;
  for (const [cause, why] of [
    ['unreadable', 'parked by an operator: a look'],
    ['hidden', 'its stream is deleted'],
  ] as const) {
    const live = copyOf(whole, aside(cause, why));
    const told = { compared: ALL_OF_THEM - 2, movedOn: 0, setAside: 2, upcastFrom: {}, differences: [] };
    expect(compared(live, whole)).toEqual(told);
    const without = `DELETE FROM ${BALANCE_TABLE} WHERE account_id = 'a0'; DELETE FROM monthly_v3_revision WHERE account_id = 'a0'`;
    expect(compared(live, copyOf(whole, without))).toEqual(told);
  }
});
