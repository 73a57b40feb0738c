import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { encodeEvents } from '../../contracts/event-codec.ts';
import { accountId, accountStream } from '../../contracts/ids.ts';
import { recordingBy } from '../../ledger/recording-by.ts';
import { markOpen } from '../../projections/closed-mark.ts';
import { VIEW_LIMITS } from '../../projections/limits.ts';
import { Projections } from '../../projections/projections.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { opened } from '../fixtures/ledger/example-account.ts';
import { MemoryEventLog } from '../fixtures/ledger/memory-event-log.ts';
import { viewsFile } from './example-ledger.ts';

/** A file with everything that the log holds. */
async function written(log: MemoryEventLog): Promise<string> {
  const path = viewsFile();
  const projections = await Projections.start({ log, path, persist: true });
  await projections.whenCaughtUp();
  await projections.close();
  return path;
}

it('a start leaves others their turns while it looks at what the file has of all accounts', async () => {
  const { foldsPerTurn } = VIEW_LIMITS;
  const log = new MemoryEventLog();
  const accounts = 11 * foldsPerTurn;
  for (let number = 0; number < accounts; number++)
    log.write(accountStream(accountId(`a${number}`)), encodeEvents([opened], recordingBy('test', 0)));
  const path = await written(log);
  let [turns, isOver] = [0, false];
  setImmediate(function count() {
    turns++;
    if (!isOver) setImmediate(count);
  });
  const projections = endedLater(await Projections.start({ log, path, persist: true }));
  isOver = true;
  expect(projections.checkpoint).not.toBeNull();
  // The last may be the one that the start ends in.
  expect(turns).toBeGreaterThanOrEqual(11 - 1);
});

it('a start that follows no whole end is told of rows that are not of one moment, and folds anew', async () => {
  const log = new MemoryEventLog();
  log.write(accountStream(accountId('a')), encodeEvents([opened], recordingBy('test', 0)));
  const path = await written(log);
  const database = new DatabaseSync(path);
  markOpen(database);
  database.exec('UPDATE stamped SET total = total + 1');
  database.close();
  const damaged: string[] = [];
  const onDamaged = (why: string): void => void damaged.push(why);
  const projections = endedLater(await Projections.start({ log, path, persist: true, onDamaged }));
  await projections.whenCaughtUp();
  expect(damaged).toEqual([expect.stringContaining('are not of one moment')]);
  expect(projections.accounts.read(accountId('a')).revision).toBe(0);
});
