import { dirname, join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { accountId } from '../../contracts/ids.ts';
import { AccountViews } from '../../projections/account-views.ts';
import { ViewFlush } from '../../projections/view-flush.ts';
import { ViewStore } from '../../projections/view-store.ts';
import { canMount, smallDisk } from '../fixtures/ledger/small-disk.ts';
import { exampleLives, foldFrom } from './example-ledger.ts';
import { restore } from './stored-rows.ts';

const LIVES = exampleLives(30);
const WAIT = { timeout: 60_000 };

/** Views whose file is on a small disk, written as a gateway does. */
function writtenViews() {
  const disk = smallDisk(1_024);
  const path = join(dirname(disk.folder), 'views.db');
  const views = new AccountViews();
  const told: string[] = [];
  const store = ViewStore.open({ path, views: views.all, keep: false, onDied: (error) => told.push(error.message) });
  let folds = 0;
  const flush = new ViewFlush({
    store,
    views: views.all,
    checkpoint: () => ({ source: 'log', checkpoint: String(folds), currentAtMs: null }),
    isCatchingUp: () => false,
    onFailed: (error) => told.push(`failed: ${error.message}`),
    onPostponed: (error) => told.push(error.message),
    onWrittenAgain: () => told.push('again'),
  });
  onTestFinished(() => store.close());
  const fold = (from: number, to: number, of = [...LIVES.keys()]): void => {
    folds += 1;
    for (const [id, events] of LIVES) if (of.includes(id)) foldFrom(views, id, events.slice(0, to), from);
  };
  return { disk, path, views, store, flush, fold, told, folds: () => folds };
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
