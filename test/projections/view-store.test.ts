import { copyFileSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { AccountViews } from '../../projections/account-views.ts';
import { BalanceView } from '../../projections/balance-view.ts';
import { VIEW_LIMITS } from '../../projections/limits.ts';
import { MonthlyView } from '../../projections/monthly-view.ts';
import type { StoredView, View, ViewRow, ViewTable } from '../../projections/view.ts';
import type { StoredCheckpoint } from '../../projections/view-file.ts';
import { restoreViews, ViewStore, type WriteRequest } from '../../projections/view-store.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { currentAtMsOf, dump, exampleLives, execute, foldAll, foldFrom, viewsFile } from './example-ledger.ts';
import { restore } from './stored-rows.ts';

const LIVES = exampleLives(4);
const FEED = 'log';
const HEAD: StoredCheckpoint = { source: FEED, checkpoint: '500', currentAtMs: 1_000 };
const LATER = { ...HEAD, checkpoint: '900' };

function openStore(path: string, views: readonly StoredView[], { keep }: { keep: boolean }): ViewStore {
  return endedLater(ViewStore.open({ path, views, keep, onDied: () => undefined }));
}
function changesOf(views: readonly View[]): ViewRow[] {
  return views.flatMap((view) => {
    const rows: ViewRow[] = [];
    const changes = view.takeChanges();
    for (let next = changes.next(); next.done !== true; next = changes.next()) rows.push(next.value);
    return rows;
  });
}
async function stored(path: string, at = HEAD): Promise<AccountViews> {
  const views = new AccountViews();
  foldAll(views, LIVES);
  const store = openStore(path, views.all, { keep: false });
  await store.write(changesOf(views.all), at);
  await store.close();
  return views;
}

const emptyOf = ({ name, version, tables }: View): StoredView => ({
  name,
  version,
  tables,
  *takeChanges() {},
  restore: () => undefined,
  clear: () => undefined,
});

/** Two parts of rows, and some. */
const MANY_ROWS = 2 * VIEW_LIMITS.rowsPerPart + 5;
const MANY_TABLE: ViewTable = { name: 'many_v1', columns: { id: 'TEXT', number: 'INTEGER' }, keyColumns: 1 };
const MANY: StoredView = { ...emptyOf(new BalanceView()), name: 'many', version: 1, tables: [MANY_TABLE] };
const manyRows = (number: number): ViewRow[] =>
  Array.from({ length: MANY_ROWS }, (_, row) => ({ table: MANY_TABLE, values: [`row ${row}`, number] }));

function rowsIn(path: string): unknown[] {
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    return database.prepare('SELECT count(*) AS rows, min(number) AS least FROM many_v1').all();
  } finally {
    database.close();
  }
}

describe('views that are restored', () => {
  test('are equal to those that were written, and say from where on they need events', async () => {
    const path = viewsFile();
    const views = await stored(path);
    const restored = new AccountViews();
    expect(restore(path, restored.all, FEED)).toEqual(HEAD);
    expect([...restored.balance.all()].length).toBe(LIVES.size);
    for (const id of LIVES.keys()) {
      expect(restored.read(id)).toEqual(views.read(id));
      for (const view of restored.all) expect(view.revisionOf(id)).toBe(views.read(id).revision);
      for (const month of ['2026-12', '2027-01', '2027-02', '2027-03']) {
        expect(restored.spendLimits.ofAccount(id, month)).toEqual(views.spendLimits.ofAccount(id, month));
        expect(new Set(restored.monthly.linesOf(id, month))).toEqual(new Set(views.monthly.linesOf(id, month)));
      }
    }
  });

  test('fold on as though nothing had been', async () => {
    const path = viewsFile();
    const half = new AccountViews();
    for (const [id, events] of LIVES) foldFrom(half, id, events.slice(0, 12), 0);
    const store = openStore(path, half.all, { keep: false });
    await store.write(changesOf(half.all), HEAD);
    const restored = new AccountViews();
    restore(path, restored.all, FEED);
    foldAll(restored, LIVES);
    const whole = new AccountViews();
    foldAll(whole, LIVES);
    for (const id of LIVES.keys()) expect(restored.read(id)).toEqual(whole.read(id));
  });

  test('tell when they were last current, and that they never were', async () => {
    const path = viewsFile();
    await stored(path, { ...HEAD, currentAtMs: null });
    expect(restore(path, new AccountViews().all, FEED)).toEqual({ ...HEAD, currentAtMs: null });
  });

  test('are those of one moment, whatever a gateway writes beside the reader', async () => {
    const path = viewsFile();
    const views = await stored(path);
    const [balance, monthly, later] = [new BalanceView(), new MonthlyView(), new MonthlyView()];
    const writesMeanwhile: StoredView = {
      ...emptyOf(balance),
      restore: () => execute(path, 'UPDATE monthly_v3_revision SET revision = 77'),
    };
    restore(path, [writesMeanwhile, monthly], FEED);
    for (const id of LIVES.keys()) expect(monthly.revisionOf(id)).toBe(views.read(id).revision);
    restore(path, [later], FEED);
    for (const id of LIVES.keys()) expect(later.revisionOf(id)).toBe(77);
  });
});

describe('views start from the beginning', () => {
  test('where there is no file, and none is made', () => {
    const path = viewsFile();
    expect(restore(path, new AccountViews().all, FEED)).toBeNull();
    expect(existsSync(path)).toBe(false);
  });

  test('where the file is empty', () => {
    const path = viewsFile();
    writeFileSync(path, '');
    expect(restore(path, new AccountViews().all, FEED)).toBeNull();
  });

  test.each([
    ['the rows came by another feed', `UPDATE checkpoint SET feed = 'kafka ledger'`],
    ['a view is missing', `DELETE FROM stored_view WHERE name = 'monthly'`],
    ['the rows are of another version', `UPDATE stored_view SET version = version + 1 WHERE name = 'balance'`],
  ])('where %s', async (_what, change) => {
    const path = viewsFile();
    await stored(path);
    execute(path, change);
    const views = new AccountViews();
    expect(restore(path, views.all, FEED)).toBeNull();
    expect([...views.balance.all()]).toEqual([]);
  });

  test('where the file is of a layout of before', async () => {
    const path = viewsFile();
    execute(
      path,
      `CREATE TABLE checkpoint (view TEXT NOT NULL, version INTEGER NOT NULL, position INTEGER NOT NULL,
         PRIMARY KEY (view, version)) STRICT; INSERT INTO checkpoint VALUES ('balance', 1, 7)`,
    );
    expect(restore(path, new AccountViews().all, FEED)).toBeNull();
    await stored(path);
    expect(restore(path, new AccountViews().all, FEED)).toEqual(HEAD);
  });

  test('where a view of before is none any more: a program that has it, come back, makes it anew', async () => {
    const path = viewsFile();
    await stored(path);
    execute(path, `INSERT INTO stored_view VALUES ('spend_limit', 1)`);
    await openStore(path, new AccountViews().all, { keep: true }).close();
    expect(dump(path).filter((row) => row.startsWith('stored_view'))).toHaveLength(new AccountViews().all.length);
  });

  test('and remove what was not restored, so that nothing of it comes back', async () => {
    const path = viewsFile();
    await stored(path);
    await openStore(path, new AccountViews().all, { keep: false }).close();
    expect(dump(path)).toEqual([]);
    expect(currentAtMsOf(path)).toBeNull();
  });

  test('again, where they were stopped before they had written anything', async () => {
    const path = viewsFile();
    await stored(path);
    // Another program's version of one view: all start over. It ends before its first write; then the old one is back.
    await openStore(path, new AccountViews().all, { keep: false }).close();
    const views = new AccountViews();
    expect(restore(path, views.all, FEED)).toBeNull();
  });

  test('never over rows that are not of one moment, as where a copy is put back beside the -wal of the file', async () => {
    const [path, copy] = [viewsFile(), viewsFile()];
    const views = new AccountViews();
    const [[first, ofFirst] = [], ...others] = LIVES;
    if (first === undefined) throw new Error('there are lives');
    const write = async (at: StoredCheckpoint, closed: 'whole' | null): Promise<void> => {
      const store = openStore(path, views.all, { keep: true });
      await store.write(changesOf(views.all), at);
      if (closed !== null) await store.close(closed);
    };
    for (const [id, events] of LIVES) foldFrom(views, id, events.slice(0, 12), 0);
    await write(HEAD, 'whole');
    copyFileSync(path, copy);
    const whole = restoreViews(copy, new AccountViews().all, { source: FEED });
    expect(whole?.at).toEqual(HEAD);
    whole?.rows.close();
    for (const [id, events] of others) foldFrom(views, id, events, 12);
    await write(LATER, 'whole');
    foldFrom(views, first, ofFirst ?? [], 12);
    await write(LATER, null);
    expect(restore(path, new AccountViews().all, FEED)).toEqual(LATER);
    copyFileSync(`${path}-wal`, `${copy}-wal`);
    expect(() => restore(copy, new AccountViews().all, FEED)).toThrow(/are not of one moment/);
  });

  test('never over a file that is no database', () => {
    const path = viewsFile();
    writeFileSync(path, 'this is not a database, and long enough to be read as one');
    expect(() => restore(path, new AccountViews().all, FEED)).toThrow(/not a database/);
  });
});

describe('a write', () => {
  test('is all of it or nothing', async () => {
    const path = viewsFile();
    const views = await stored(path);
    const before = dump(path);
    const store = openStore(path, views.all, { keep: true });
    const [row] = changesOf([foldedBalance()]);
    if (row === undefined) throw new Error('no row');
    const wrong: ViewRow = {
      table: row.table,
      values: [...row.values.slice(0, 1), 'not a number', ...row.values.slice(2)],
    };
    await expect(store.write([row, wrong], LATER)).rejects.toThrow(/the views were not written/);
    expect(dump(path)).toEqual(before);
    await store.write([], LATER);
    expect(dump(path)).not.toEqual(before);
  });

  test('of many rows is handed over part by part, and is one all the same', async () => {
    const path = viewsFile();
    const handed = vi.spyOn(Worker.prototype, 'postMessage');
    onTestFinished(() => handed.mockRestore());
    const store = openStore(path, [MANY], { keep: false });
    const wrong = { table: MANY_TABLE, values: ['last', 'not a number'] };
    await expect(store.write([...manyRows(1), wrong], HEAD)).rejects.toThrow(/the views were not written/);
    expect(dump(path)).toEqual([]);
    await store.write(manyRows(2), LATER);
    expect(rowsIn(path)).toEqual([{ rows: MANY_ROWS, least: 2 }]);
    expect(restore(path, [MANY], FEED)).toEqual(LATER);
    const parts = handed.mock.calls.map(([request]) => (request as WriteRequest).batches);
    const sizes = parts.map((batches) => batches.reduce((sum, { rows }) => sum + rows.length, 0));
    expect(Math.max(...sizes)).toBe(VIEW_LIMITS.rowsPerPart);
    expect(sizes.length).toBe(6);
  });

  test('of many rows is under way until its last part is written, also for the end', async () => {
    const path = viewsFile();
    const store = openStore(path, [MANY], { keep: false });
    const writing = store.write(manyRows(3), HEAD);
    await expect(store.write([], LATER)).rejects.toThrow(/under way/);
    await Promise.all([store.close(), writing]);
    expect(rowsIn(path)).toEqual([{ rows: MANY_ROWS, least: 3 }]);
  });

  test('is one at a time', async () => {
    const views = new AccountViews();
    const store = openStore(viewsFile(), views.all, { keep: false });
    const first = store.write([], HEAD);
    await expect(store.write([], HEAD)).rejects.toThrow(/under way/);
    await first;
    await expect(store.write([], HEAD)).resolves.toBeUndefined();
  });
});

describe('the thread that writes', () => {
  const NO_DATABASE = 'this is not a database, and long enough to be read as one'.repeat(20);

  test('is told of when it ends between two writes, and fails those that follow', async () => {
    const path = viewsFile();
    const died: Error[] = [];
    const death = Promise.withResolvers<void>();
    const onDied = (error: Error): void => {
      died.push(error);
      death.resolve();
    };
    const store = ViewStore.open({ path, views: [], keep: true, keepFreeBytes: 0, onDied });
    // Before the thread has come to look at it.
    writeFileSync(path, NO_DATABASE);
    await death.promise;
    expect(died.map(String)).toEqual([expect.stringMatching(/cannot be written any more: file is not a database/)]);
    await expect(store.write([], HEAD)).rejects.toThrow(/cannot be written any more/);
    await expect(store.clear()).rejects.toThrow(/cannot be written any more/);
    await store.close();
    await store.close();
    expect(died).toHaveLength(1);
  });

  test('fails the write that waits for it when it ends', async () => {
    const path = viewsFile();
    const died: Error[] = [];
    const onDied = (error: Error): void => void died.push(error);
    const store = ViewStore.open({ path, views: [], keep: true, keepFreeBytes: 0, onDied });
    const writing = store.write([], HEAD);
    writeFileSync(path, NO_DATABASE);
    await expect(writing).rejects.toThrow(/cannot be written any more/);
    expect(died).toHaveLength(1);
    await store.close();
  });

  test('is told of to nobody where it cannot open the file for now: another store may, later', async () => {
    const path = viewsFile();
    const died: Error[] = [];
    const store = ViewStore.open({ path, views: [], keep: true, onDied: (error) => died.push(error) });
    const writing = store.write([], HEAD);
    rmSync(path);
    mkdirSync(path);
    await expect(writing).rejects.toMatchObject({ name: 'ViewsNotWrittenError', mayPass: true });
    expect([store.isUnstarted, died]).toEqual([true, []]);
    await store.close();
  });

  test('is told of when the file is gone before it could open it: another store would make one that lacks what it had', async () => {
    const path = viewsFile();
    const died: Error[] = [];
    const store = ViewStore.open({ path, views: [], keep: true, onDied: (error) => died.push(error) });
    const writing = store.write([], HEAD);
    rmSync(dirname(path), { recursive: true });
    await expect(writing).rejects.toThrow(/cannot be written any more/);
    expect([store.isUnstarted, died.length]).toEqual([false, 1]);
    await store.close();
  });

  test('ends with the store, after the write under way, and that is no fault', async () => {
    const path = viewsFile();
    const died: Error[] = [];
    const store = ViewStore.open({ path, views: [], keep: true, onDied: (error) => died.push(error) });
    const writing = store.write([], LATER);
    await Promise.all([store.close(), store.close(), writing]);
    await store.close();
    expect(dump(path)).toEqual([`checkpoint {"one":1,"feed":"log","checkpoint":"900"}`]);
    await expect(store.write([], HEAD)).rejects.toThrow(/closed/);
    expect(died).toEqual([]);
  });
});

function foldedBalance(): View {
  const views = new AccountViews();
  for (const [id, events] of LIVES) foldFrom(views, id, events.slice(0, 3), 0);
  return views.balance;
}
