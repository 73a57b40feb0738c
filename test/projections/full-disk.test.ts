import { dirname, join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { accountId } from '../../contracts/ids.ts';
import { freeBytesAt } from '../../ledger/room-on-disk.ts';
import { AccountViews } from '../../projections/account-views.ts';
import type { StoredView, ViewRow, ViewTable } from '../../projections/view.ts';
import { ViewFlush } from '../../projections/view-flush.ts';
import { ViewStore } from '../../projections/view-store.ts';
import { canMount, smallDisk } from '../fixtures/ledger/small-disk.ts';
import { exampleLives, foldFrom, rowsOf } from './example-ledger.ts';
import { restore } from './stored-rows.ts';

const LIVES = exampleLives(30);
const WAIT = { timeout: 60_000 };

/** Views whose file is on a small disk, written as a gateway does. */
function writtenViews({ isFull = false } = {}) {
  const disk = smallDisk(1_024);
  if (isFull) disk.leaveFree(0);
  const path = join(dirname(disk.folder), 'views.db');
  const views = new AccountViews();
  const told: string[] = [];
  let folds = 0;
  const flush = new ViewFlush({
    views: views.all,
    checkpoint: () => ({ source: 'log', checkpoint: String(folds), currentAtMs: null }),
    isCatchingUp: () => false,
    onFailed: (error) => told.push(`failed: ${error.message}`),
    onPostponed: (error) => told.push(error.message),
    onWrittenAgain: () => told.push('again'),
  });
  let store: ViewStore | null = null;
  flush.writeTo(() => {
    store = ViewStore.open({ path, views: views.all, keep: false, onDied: (error) => told.push(error.message) });
    return store;
  });
  onTestFinished(() => store?.close());
  const fold = (from: number, to: number, of = [...LIVES.keys()]): void => {
    folds += 1;
    for (const [id, events] of LIVES) if (of.includes(id)) foldFrom(views, id, events.slice(0, to), from);
  };
  return { disk, path, views, flush, fold, told, folds: () => folds };
}

describe.runIf(canMount)("views whose file's disk is full", () => {
  test('are written when there is room again, with all that changed meanwhile, and whoever waits waits so long', async () => {
    const { disk, path, views, flush, fold, told, folds } = writtenViews();
    fold(0, 3);
    await flush.written();
    disk.leaveFree(0);
    // As much as the file still has room for goes in without anybody's noticing.
    fold(3, 6);
    let isWritten = false;
    const written = flush.written().then(() => {
      isWritten = true;
    });
    await expect.poll(() => told, WAIT).toEqual([expect.stringMatching(/^the views were not written: /)]);
    // What one account gains must not make the file forget what it lacks of all others.
    fold(6, 9, [accountId('a0')]);
    const later = flush.written();
    expect(isWritten).toBe(false);
    disk.clear();
    await Promise.all([written, later]);
    expect(told.slice(1)).toEqual(['again']);
    await flush.close({ write: true });
    const restored = new AccountViews();
    expect(restore(path, restored.all, 'log')).toMatchObject({ checkpoint: String(folds()) });
    for (const id of LIVES.keys()) {
      expect(restored.read(id)).toEqual(views.read(id));
      expect(restored.monthly.revisionOf(id)).toBe(views.monthly.revisionOf(id));
    }
  });

  test('are written when there is room again also where their file could not be opened meanwhile', async () => {
    const { disk, path, views, flush, fold, told, folds } = writtenViews({ isFull: true });
    expect(told).toEqual([expect.stringMatching(/^the views were not written: .*full/)]);
    fold(0, 3);
    const written = flush.written();
    disk.clear();
    await written;
    expect(told.slice(1)).toEqual(['again']);
    await flush.close({ write: true });
    const restored = new AccountViews();
    expect(restore(path, restored.all, 'log')).toMatchObject({ checkpoint: String(folds()) });
    for (const id of LIVES.keys()) expect(restored.read(id)).toEqual(views.read(id));
  });

  test('are given up at the end without a fault: their file is a cache, and the next start reads on from where it is', async () => {
    const { disk, path, flush, fold, told } = writtenViews();
    fold(0, 3);
    await flush.written();
    disk.leaveFree(0);
    fold(3, 9);
    const written = flush.written();
    written.catch(() => undefined);
    await expect.poll(() => told.length, WAIT).toBe(1);
    await flush.close({ write: true });
    await expect(written).rejects.toThrow('the views are not written any more');
    expect(restore(path, new AccountViews().all, 'log')).toMatchObject({ checkpoint: '1' });
    expect(told).toHaveLength(1);
  });
});

describe.runIf(canMount)('of a disk that is for others, too, a file of views', () => {
  const MIB = 1_024 ** 2;
  const TABLE: ViewTable = { name: 'long_v1', columns: { id: 'INTEGER', text: 'TEXT' }, keyColumns: 1 };
  const VIEW: StoredView = { name: 'long', version: 1, tables: [TABLE], *takeChanges() {}, restore() {}, clear() {} };
  const AT = { source: 'log', checkpoint: '1', currentAtMs: null };
  const rowsOfKib = (rows: number): ViewRow[] =>
    Array.from({ length: rows }, (_, id) => ({ table: TABLE, values: [(id * 7_919) % 65_521, 'x'.repeat(800)] }));

  function storeThatKeeps(keepFreeBytes: number) {
    const disk = smallDisk(48 * 1_024);
    const path = join(dirname(disk.folder), 'views.db');
    const store = ViewStore.open({ path, views: [VIEW], keep: true, keepFreeBytes, onDied: () => undefined });
    onTestFinished(() => store.close());
    return { disk, path, store };
  }

  test.each([
    ['on the way', 40_000, 16],
    ['before its end, where the file would grow into it', 12_000, 24],
    ['before the first row of few', 10, 45],
  ])(
    'is not written into what is kept for them, seen %s; all is as it was, and may be written later',
    async (_when, rows, keepMib) => {
      const { path, store } = storeThatKeeps(keepMib * MIB);
      await expect(store.write(rowsOfKib(rows), AT)).rejects.toMatchObject({
        ...{ name: 'ViewsNotWrittenError', mayPass: true },
        message: expect.stringMatching(new RegExp(` MiB are free, of which ${keepMib} MiB are kept for requests$`)),
      });
      // The WAL is as long as it was.
      expect(freeBytesAt(path)).toBeGreaterThanOrEqual(keepMib * MIB);
      expect(rowsOf(path).filter((row) => row.startsWith('long_v1'))).toEqual([]);
    },
  );

  test('is written where it fits beside that', async () => {
    const { path, store } = storeThatKeeps(20 * MIB);
    await store.write(rowsOfKib(5_000), AT);
    expect(freeBytesAt(path)).toBeGreaterThanOrEqual(20 * MIB);
    await store.write(rowsOfKib(5_000), AT);
    expect(freeBytesAt(path)).toBeGreaterThanOrEqual(20 * MIB);
  });
});
