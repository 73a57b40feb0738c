import { existsSync, writeFileSync } from 'node:fs';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type Position, position } from '../../contracts/ids.ts';
import { AccountViews } from '../../projections/account-views.ts';
import type { View, ViewRow } from '../../projections/view.ts';
import { restoreViews, ViewStore } from '../../projections/view-store.ts';
import { dump, exampleLives, execute, foldAll, foldFrom, viewsFile } from './example-ledger.ts';

const LIVES = exampleLives(4);
const HEAD = position(500);

function openStore(path: string, views: readonly View[], from: Position | null): ViewStore {
  const store = ViewStore.open(path, views, from);
  onTestFinished(() => store.close());
  return store;
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
  const store = ViewStore.open(path, views.all, null);
  await store.write(changesOf(views.all), views.all, at);
  await store.close();
  return views;
}

describe('views that are restored', () => {
  test('are equal to those that were written, and say from where on they need events', async () => {
    const path = viewsFile();
    const views = await stored(path);
    const restored = new AccountViews();
    expect(restoreViews(path, restored.all, HEAD)).toBe(HEAD);
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
    const store = openStore(path, half.all, null);
    await store.write(changesOf(half.all), half.all, HEAD);
    const restored = new AccountViews();
    restoreViews(path, restored.all, HEAD);
    foldAll(restored, LIVES);
    const whole = new AccountViews();
    foldAll(whole, LIVES);
    for (const id of LIVES.keys()) expect(restored.read(id)).toEqual(whole.read(id));
  });

  test('start at the lowest of their checkpoints', async () => {
    const path = viewsFile();
    await stored(path);
    execute(path, `UPDATE checkpoint SET position = 17 WHERE view = 'monthly'`);
    expect(restoreViews(path, new AccountViews().all, HEAD)).toBe(17);
  });
});

describe('views start from the beginning', () => {
  const restoredNothing = (views: AccountViews): boolean => [...views.balance.all()].length === 0;

  test('where there is no file, and none is made', () => {
    const path = viewsFile();
    expect(restoreViews(path, new AccountViews().all, HEAD)).toBeNull();
    expect(existsSync(path)).toBe(false);
  });

  test('where the file is empty', () => {
    const path = viewsFile();
    writeFileSync(path, '');
    expect(restoreViews(path, new AccountViews().all, HEAD)).toBeNull();
  });

  test('where the checkpoint is beyond the head of the log: the rows are of another log', async () => {
    const path = viewsFile();
    await stored(path);
    const views = new AccountViews();
    expect(restoreViews(path, views.all, position(HEAD - 1))).toBeNull();
    expect(restoreViews(path, views.all, null)).toBeNull();
    expect(restoredNothing(views)).toBe(true);
  });

  test('where a view has no checkpoint', async () => {
    const path = viewsFile();
    await stored(path);
    execute(path, `DELETE FROM checkpoint WHERE view = 'spend_limit'`);
    const views = new AccountViews();
    expect(restoreViews(path, views.all, HEAD)).toBeNull();
    expect(restoredNothing(views)).toBe(true);
  });

  test('where the rows are of another version', async () => {
    const path = viewsFile();
    await stored(path);
    execute(path, `UPDATE checkpoint SET version = version + 1 WHERE view = 'balance'`);
    const views = new AccountViews();
    expect(restoreViews(path, views.all, HEAD)).toBeNull();
    expect(restoredNothing(views)).toBe(true);
  });

  test('and remove what was not restored, so that nothing of it comes back', async () => {
    const path = viewsFile();
    await stored(path);
    await ViewStore.open(path, new AccountViews().all, null).close();
    expect(dump(path).filter((row) => !row.startsWith('checkpoint'))).toEqual([]);
  });

  test('again, where they were stopped before they had written anything', async () => {
    const path = viewsFile();
    await stored(path);
    // Another program's version of one view: all start over. It ends before its first write; then the old one is back.
    await ViewStore.open(path, new AccountViews().all, null).close();
    const views = new AccountViews();
    expect(restoreViews(path, views.all, HEAD)).toBeNull();
  });

  test('never over a file that is no database', () => {
    const path = viewsFile();
    writeFileSync(path, 'this is not a database, and long enough to be read as one');
    expect(() => restoreViews(path, new AccountViews().all, HEAD)).toThrow(/not a database/);
  });
});

describe('a write', () => {
  test('is all of it or nothing', async () => {
    const path = viewsFile();
    const views = await stored(path);
    const before = dump(path);
    const store = openStore(path, views.all, HEAD);
    const [row] = changesOf([foldedBalance()]);
    if (row === undefined) throw new Error('no row');
    const wrong: ViewRow = {
      table: row.table,
      values: [...row.values.slice(0, 1), 'not a number', ...row.values.slice(2)],
    };
    await expect(store.write([row, wrong], views.all, position(900))).rejects.toThrow(/the views were not written/);
    expect(dump(path)).toEqual(before);
    await store.write([], views.all, position(900));
    expect(dump(path)).not.toEqual(before);
  });

  test('is one at a time', async () => {
    const views = new AccountViews();
    const store = openStore(viewsFile(), views.all, null);
    const first = store.write([], views.all, HEAD);
    await expect(store.write([], views.all, HEAD)).rejects.toThrow(/under way/);
    await first;
    await expect(store.write([], views.all, HEAD)).resolves.toBeUndefined();
  });
});

function foldedBalance(): View {
  const views = new AccountViews();
  for (const [id, events] of LIVES) foldFrom(views, id, events.slice(0, 3), 0);
  return views.balance;
}
