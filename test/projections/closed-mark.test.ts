import { copyFileSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { encodeEvents } from '../../contracts/event-codec.ts';
import { accountId, accountStream, CATALOG_STREAM, ledgerId } from '../../contracts/ids.ts';
import { recordingBy } from '../../ledger/recording-by.ts';
import { damageOfRows } from '../../projections/damaged-rows.ts';
import { damageOf } from '../../projections/damaged-views.ts';
import { damageOfRowsInThread } from '../../projections/in-views-thread.ts';
import { readLedgerOfViews, writeLedgerOfViews } from '../../projections/known-views.ts';
import { Projections } from '../../projections/projections.ts';
import { openRows, RestoredRows } from '../../projections/restored-rows.ts';
import { restoreViews, ViewStore } from '../../projections/view-store.ts';
import { viewsOfThisProgram } from '../../projections/views-of-this-program.ts';
import { wasClosedWhole } from '../../projections/was-closed-whole.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { opened } from '../fixtures/ledger/example-account.ts';
import { exampleOf } from '../fixtures/ledger/example-events.ts';
import { MemoryEventLog } from '../fixtures/ledger/memory-event-log.ts';
import { inTurnsThroughout, passing } from '../fixtures/ledger/turns.ts';
import { exchangePages } from '../fixtures/ledger/views-pages.ts';
import { execute, viewsFile } from './example-ledger.ts';
import { caughtUp, logOf, writeUnknown, written } from './started-projections.ts';

inTurnsThroughout();

const RECORDED = recordingBy('test', 0);

describe('a file of views says that it was closed whole', () => {
  test('once it was, and no more from its next opening on, also in a copy of the file alone', async () => {
    const log = logOf();
    const path = await written(log);
    expect(wasClosedWhole(path)).toBe(true);
    const { projections, close } = await caughtUp(log, path);
    const copy = `${path}.copy`;
    copyFileSync(path, copy);
    expect([wasClosedWhole(path), wasClosedWhole(copy)]).toEqual([false, false]);
    await passing(projections.whenWritten());
    expect(wasClosedWhole(path)).toBe(false);
    await close();
    expect(wasClosedWhole(path)).toBe(true);
  });

  /** Null where it holds no snapshot. */
  const readerOf = (path: string, begin: string | null = null): DatabaseSync => {
    const reader = new DatabaseSync(path, { readOnly: true });
    onTestFinished(() => (reader.isOpen ? reader.close() : undefined));
    if (begin !== null) reader.exec(begin);
    reader.prepare('SELECT count(*) FROM checkpoint').get();
    return reader;
  };

  test.each([
    ['also where another has it open', null, true],
    ['but not where another reads on in what it was before', 'BEGIN', false],
  ])('%s at its end', async (_what, begin, isWhole) => {
    const log = logOf();
    const path = viewsFile();
    const { projections, close } = await caughtUp(log, path);
    await passing(projections.whenWritten());
    const reader = readerOf(path, begin);
    await close();
    reader.close();
    expect(wasClosedWhole(path)).toBe(isWhole);
  });

  test('until it is opened, which waits for nobody who reads it: that it is open goes into the file before what is written once it is read no more', async () => {
    const path = await written(logOf());
    const reader = readerOf(path, 'BEGIN');
    const asked = [vi.spyOn(DatabaseSync.prototype, 'exec'), vi.spyOn(DatabaseSync.prototype, 'prepare')];
    onTestFinished(() => asked.forEach((one) => void one.mockRestore()));
    const store = endedLater(
      ViewStore.open({ path, views: viewsOfThisProgram(), keep: true, onDied: () => undefined }),
    );
    const checkpoints = asked
      .flatMap(({ mock }) => mock.calls.flat())
      .filter((sql) => /checkpoint\(/.test(String(sql)));
    // SQLite waits for readers in any other.
    expect(checkpoints).toEqual(['PRAGMA wal_checkpoint(PASSIVE)']);
    const isCopyWhole = (): boolean => {
      copyFileSync(path, `${path}.copy`);
      return wasClosedWhole(`${path}.copy`);
    };
    const write = () => passing(store.write([], { source: 'log', checkpoint: '{}', currentAtMs: null }));
    await write();
    expect([wasClosedWhole(path), isCopyWhole()]).toEqual([false, true]);
    reader.close();
    await write();
    expect(isCopyWhole()).toBe(false);
  });

  test('but not beside what another file has left', async () => {
    const path = await written(logOf());
    writeFileSync(`${path}-wal`, 'of another');
    expect(wasClosedWhole(path)).toBe(false);
  });

  test('nor where the views have stopped: what has stopped them may be in it', async () => {
    const log = logOf();
    const path = await written(log);
    const { stopped, close } = await caughtUp(log, path);
    writeUnknown(log);
    await passing(expect.poll(() => stopped.length).toBe(1));
    await close();
    expect(wasClosedWhole(path)).toBe(false);
  });
});

const mixed = (path: string): void => execute(path, 'UPDATE stamped SET total = total + 1');
const killed = (path: string): void => execute(path, 'DROP TABLE closed_whole');
const restored = (path: string) => {
  const found = restoreViews(path, viewsOfThisProgram(), { source: 'log' });
  found?.rows.close();
  return found;
};

test('rows of a file that was closed whole are not all looked at by whoever reads it next; any others are', async () => {
  const path = await written(logOf());
  mixed(path);
  expect(restored(path)).not.toBeNull();
  killed(path);
  expect(() => restored(path)).toThrow(/not of one moment/);
});

describe('rows that cannot all be relied on', () => {
  const ending = new AbortController().signal;
  const identity = { ledgerId: ledgerId('ledger_1'), generation: 1 };

  test('are none in a file that is whole, or holds none', async () => {
    const path = await written(logOf());
    expect(damageOfRows(path)).toBeNull();
    await expect(damageOfRowsInThread(path, ending)).resolves.toBeNull();
    execute(path, 'DELETE FROM checkpoint');
    mixed(path);
    expect(damageOfRows(path)).toBeNull();
  });

  test('are those of two moments', async () => {
    const path = await written(logOf());
    mixed(path);
    await expect(damageOfRowsInThread(path, ending)).resolves.toMatch(/not of one moment/);
  });

  test('are those whose pages stand in one another’s place, which SQLite takes for whole', async () => {
    const path = await manyWritten();
    writeLedgerOfViews(path, identity);
    exchangePages(path, '"type":"open"');
    expect(damageOf(path)).toBeNull();
    expect(damageOfRows(path)).toMatch(/^rows of balance_v\d+ that are not found by their keys: \d+$/);
    // Whoever looks at all accounts, as each start does, comes upon it, too.
    const damaged: string[] = [];
    const onDamaged = (why: string): void => void damaged.push(why);
    const { log } = many;
    endedLater(await passing(Projections.start({ log, path, persist: true, onDamaged })));
    expect(damaged).toEqual([expect.stringContaining('is not where its key is sought')]);
    // What is made anew belongs to the ledger, too.
    expect(readLedgerOfViews(path)).toEqual(identity);
  });
});

describe('rows whose keys SQLite sorts otherwise than text', () => {
  test('are where they are sought: a catalog of eleven publications is taken up by the next start', async () => {
    const log = new MemoryEventLog();
    const { data } = exampleOf('CatalogPublished');
    for (let version = 1; version <= 11; version++)
      log.write(CATALOG_STREAM, encodeEvents([{ type: 'CatalogPublished', data: { ...data, version } }], RECORDED));
    const path = await written(log);
    const damaged: string[] = [];
    const onDamaged = (why: string): void => void damaged.push(why);
    const again = endedLater(await passing(Projections.start({ log, path, persist: true, onDamaged })));
    expect(damaged).toEqual([]);
    expect([again.catalog.state.version, again.catalog.state.revision]).toEqual([11, 10]);
  });

  test('are where they are sought: texts are sorted by their UTF-8 bytes', () => {
    const path = viewsFile();
    const ids = ['\u{ff21}', '\u{1f600}'];
    const create = 'CREATE TABLE some (id TEXT NOT NULL, PRIMARY KEY (id)) STRICT, WITHOUT ROWID';
    execute(path, `${create}; INSERT INTO some VALUES ('${ids.toReversed().join("'), ('")}')`);
    const rows = new RestoredRows(openRows(path));
    expect([...rows.all({ name: 'some', columns: { id: 'TEXT' }, keyColumns: 1 }, ([id]) => id)]).toEqual(ids);
    rows.close();
  });
});

/** Of which the rows stand on several pages. */
const many = { log: new MemoryEventLog(), accounts: 60 };
async function manyWritten(): Promise<string> {
  for (let number = 0; number < many.accounts; number++)
    many.log.write(accountStream(accountId(`account-${100 + number}`)), encodeEvents([opened], RECORDED));
  return written(many.log);
}
