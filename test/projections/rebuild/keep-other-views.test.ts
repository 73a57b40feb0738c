import { expect, test } from 'vitest';
import { hasKeptOthers, keepOtherViews } from '../../../projections/rebuild/keep-other-views.ts';
import { BALANCE_TABLE } from '../../fixtures/ledger/balance-table.ts';
import { inTurnsThroughout } from '../../fixtures/ledger/turns.ts';
import { execute, rowsOf, writeLives } from '../example-ledger.ts';
import { ALL, caughtUp, expectWhole, LIVES, logOf, start, written } from '../started-projections.ts';

inTurnsThroughout();

const rowsIn = (path: string, table: string): string[] => rowsOf(path).filter((row) => row.startsWith(`${table} `));

/** Views of the log's first events, and of all. */
async function made() {
  const log = logOf(0, 9);
  const early = await written(log);
  writeLives(log, LIVES, 9, ALL);
  return { log, early, whole: await written(log) };
}

test.each([
  ['behind', true],
  ['ahead of', false],
])(
  'of views that were made anew one stays; where the others are %s it, both go on to the same',
  async (_which, isLiveEarly) => {
    const { log, early, whole } = await made();
    const [live, rebuilt] = isLiveEarly ? [early, whole] : [whole, early];
    const [balance, monthly] = [rowsIn(live, BALANCE_TABLE), rowsIn(rebuilt, 'monthly_v3')];
    expect(hasKeptOthers(rebuilt)).toBe(false);
    keepOtherViews(rebuilt, live, 'monthly');
    expect(hasKeptOthers(rebuilt)).toBe(true);
    expect([rowsIn(rebuilt, BALANCE_TABLE), rowsIn(rebuilt, 'monthly_v3')]).toEqual([balance, monthly]);
    const { projections, stopped } = await caughtUp(log, rebuilt);
    expectWhole(projections);
    expect(stopped).toEqual([]);
  },
);

test('who is set aside in either is set aside, and what was put together can be read', async () => {
  const { log, early: rebuilt, whole: live } = await made();
  const aside = (id: string): string =>
    `INSERT INTO set_aside_v1 VALUES ('${id}', 'hidden', -1, 'its stream is deleted', 1);
     UPDATE stamped SET total = total + 1 WHERE name = 'set_aside_v1'`;
  execute(live, aside('a1'));
  execute(rebuilt, aside('a2'));
  keepOtherViews(rebuilt, live, 'monthly');
  const { projections } = await start(log, rebuilt);
  expect(projections.accounts.setAside.accountsOf('hidden')).toEqual(['a1', 'a2']);
});
