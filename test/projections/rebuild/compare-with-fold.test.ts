import { expect, test } from 'vitest';
import { accountStream } from '../../../contracts/ids.ts';
import { compareWithFold } from '../../../projections/rebuild/compare-with-fold.ts';
import { inTurnsThroughout } from '../../fixtures/ledger/turns.ts';
import { execute, viewsFile } from '../example-ledger.ts';
import { A, checkpointAt, LIVES, logOf, written } from '../started-projections.ts';

inTurnsThroughout();

test('rows that are newer than their checkpoint, as a gateway writes its own appends, are folded as far as each has come', async () => {
  const log = logOf();
  const path = await written(log);
  const early = logOf();
  early.events.splice(5);
  const { checkpoint } = JSON.parse(checkpointAt(early).replace(/^checkpoint /, ''));
  execute(path, `UPDATE checkpoint SET checkpoint = '${checkpoint}'`);
  // What has come since of an account of few events, whose row is not as far as others' are.
  const [[few = A] = []] = [...LIVES].toSorted(([, { length }], [, { length: other }]) => length - other);
  const again = log.events.filter(({ stream, type }) => stream === accountStream(few) && type === 'CreditsGranted');
  log.write(accountStream(few), again.slice(0, 1));
  const differences: unknown[] = [];
  const compared = (only: typeof A | null) =>
    compareWithFold({ path, log, only, onDifference: (difference) => differences.push(difference) });
  expect(await compared(null)).toMatchObject({ events: log.events.length, notCompared: 0 });
  expect((await compared(A))?.events).toBeLessThan(log.events.length);
  expect(differences).toEqual([]);
});

test('a file in which nothing is folded, or of another program, is compared with nothing', async () => {
  const log = logOf();
  const compared = (path: string) => compareWithFold({ path, log, only: null, onDifference: () => expect.fail() });
  expect(await compared(viewsFile())).toBeNull();
  const other = await written(log);
  execute(other, 'DROP TABLE monthly_v3');
  expect(await compared(other)).toBeNull();
});
