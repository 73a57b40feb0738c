import { closeSync, fstatSync, openSync, statSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { GroupSync } from '../../../ledger/journal/group-sync.ts';
import { openJournal } from '../../../ledger/journal/open-journal.ts';
import { endedLater } from '../../fixtures/ended-later.ts';
import { replaceWithFullDevice } from '../../fixtures/ledger/full-device.ts';
import { journalFolder } from '../../fixtures/ledger/journal-folder.ts';
import { idOf, startOf } from '../../fixtures/ledger/numbered-requests.ts';
import { segmentNames } from './fixtures/plain-reader.ts';

/** A group sync over a file of its own; `syncs` counts those that were started, after `first` before the first of them. */
function countedSync(pauseMs: number, backgroundMs: number) {
  const path = `${journalFolder()}-file`;
  const count = { syncs: 0, first: (): void => undefined };
  const fd = openSync(path, 'w');
  const sync = new GroupSync({
    fd,
    backgroundMs,
    pauseMs,
    beforeSync: () => {
      if (count.syncs === 0) count.first();
      count.syncs += 1;
    },
    onFailure: (cause) => sync.fail(new Error('failed', { cause })),
  });
  let closing: Promise<void> | null = null;
  const { close } = endedLater({
    close: () => {
      closing ??= sync.close();
      return closing;
    },
  });
  return { sync, count, close, path, fd };
}

/** Null where the number is nobody's. */
function inodeOf(fd: number): number | null {
  try {
    return fstatSync(fd).ino;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EBADF') return null;
    throw error;
  }
}

describe('group commit', () => {
  test('who asks during a sync shares the next one with all others who do', async () => {
    const { sync, count } = countedSync(1, 60_000);
    sync.wrote();
    const first = sync.durable();
    expect(count.syncs).toBe(1);
    sync.wrote();
    const second = sync.durable();
    sync.wrote();
    expect(sync.durable()).toBe(second);
    await first;
    expect(count.syncs).toBe(1);
    await second;
    expect(count.syncs).toBe(2);
  });

  test('who has written nothing since shares the sync under way, and needs none when there is none', async () => {
    const { sync, count } = countedSync(1, 60_000);
    await sync.durable();
    expect(count.syncs).toBe(0);
    sync.wrote();
    const first = sync.durable();
    expect(sync.durable()).toBe(first);
    await first;
    await sync.durable();
    expect(count.syncs).toBe(1);
  });

  test('a sync comes by itself soon after a write, and none without one', async () => {
    const { sync, count } = countedSync(1, 3);
    sync.wrote();
    sync.wrote();
    await expect.poll(() => count.syncs, { interval: 1 }).toBe(1);
    await sync.durable();
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(count.syncs).toBe(1);
  });

  test('a sync that is waited for comes in place of the one that was due', async () => {
    const { sync, count } = countedSync(5, 10);
    sync.wrote();
    await sync.durable();
    sync.wrote();
    await sync.durable();
    // Due after the one that was.
    await new Promise((resolve) => setTimeout(resolve, 15));
    expect(count.syncs).toBe(2);
  });

  test('a sync comes in its time although writes go on', async () => {
    const { sync, count } = countedSync(1, 30);
    for (let write = 0; write < 200 && count.syncs === 0; write++) {
      sync.wrote();
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    expect(count.syncs).toBe(1);
  });

  test('syncs that are waited for keep a pause between them', async () => {
    const { sync, count } = countedSync(20, 60_000);
    const startedMs = performance.now();
    for (let write = 0; write < 4; write++) {
      sync.wrote();
      await sync.durable();
    }
    expect(count.syncs).toBe(4);
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(3 * 19);
  });

  test('a file is closed only when its sync has ended', async () => {
    const { sync, path, fd } = countedSync(1, 60_000);
    sync.wrote();
    const waiting = sync.durable();
    sync.moveTo(openSync(`${path}-next`, 'w'));
    // Closed, its number would be that of the next file that anybody opens.
    const other = openSync(`${path}-other`, 'w');
    expect(inodeOf(fd)).toBe(statSync(path).ino);
    await waiting;
    expect(inodeOf(fd)).not.toBe(statSync(path).ino);
    closeSync(other);
  });

  test('and then at once as another comes, so that as many descriptors are open behind many files as behind one', async () => {
    const { sync, path, fd } = countedSync(0, 60_000);
    const files = [{ path, fd }];
    for (let number = 1; number <= 5; number++) {
      sync.wrote();
      await sync.durable();
      const next = { path: `${path}-${number}`, fd: openSync(`${path}-${number}`, 'w') };
      sync.moveTo(next.fd);
      files.push(next);
    }
    expect(files.filter((file) => inodeOf(file.fd) === statSync(file.path).ino)).toEqual(files.slice(-1));
  });

  test('nor where another file came before its sync began, and one more while it is under way', async () => {
    const { sync, count, path } = countedSync(1, 60_000);
    const next = openSync(`${path}-next`, 'w');
    count.first = () => sync.moveTo(next);
    sync.wrote();
    const waiting = sync.durable();
    const last = openSync(`${path}-last`, 'w');
    sync.moveTo(last);
    const other = openSync(`${path}-other`, 'w');
    expect(inodeOf(next)).toBe(statSync(`${path}-next`).ino);
    await waiting;
    expect([inodeOf(next), inodeOf(last)]).toEqual([null, statSync(`${path}-last`).ino]);
    closeSync(other);
  });

  test('who waits for a sync under way is answered by it, also where the file is closed behind it', async () => {
    const { sync, close } = countedSync(1, 60_000);
    sync.wrote();
    const waiting = expect(sync.durable()).rejects.toThrow('no room');
    sync.fail(new Error('no room'));
    await close();
    await waiting;
  });

  test('after a failure nothing more is synced, though a sync was due', async () => {
    const { sync, count } = countedSync(1, 3);
    sync.wrote();
    sync.fail(new Error('no room'));
    // Due after the sync that was: timers end in the order in which they are due.
    await new Promise((resolve) => setTimeout(resolve, 6));
    expect(count.syncs).toBe(0);
  });
});

describe.runIf(process.platform === 'linux')('a sync that fails', () => {
  test('is told to who waits, and for ever after', async () => {
    const directory = journalFolder();
    const { journal } = await openJournal({ directory });
    journal.begin(idOf(0), startOf(0));
    replaceWithFullDevice(directory);
    const isBroken = expect.objectContaining({
      kind: 'input_output',
      cause: expect.objectContaining({ code: 'EINVAL' }),
    });
    const waiting = journal.durable();
    await expect(waiting).rejects.toThrow(isBroken);
    await expect(journal.durable()).rejects.toThrow(isBroken);
    expect(() => journal.begin(idOf(1), startOf(1))).toThrow(isBroken);
    expect(journal.obstacle).toBe('failed');
    await expect(journal.close()).rejects.toThrow(isBroken);
  });

  test('shows in the journal even when nobody waits', async () => {
    const directory = journalFolder();
    const { journal } = await openJournal({ directory });
    journal.begin(idOf(0), startOf(0));
    replaceWithFullDevice(directory);
    await expect.poll(() => journal.obstacle, { interval: 1 }).toBe('failed');
    expect(() => journal.begin(idOf(1), startOf(1))).toThrow(expect.objectContaining({ kind: 'input_output' }));
    await expect(journal.close()).rejects.toThrow(expect.objectContaining({ kind: 'input_output' }));
  });

  test('forbids a further segment after one that may not be on disk', async () => {
    const directory = journalFolder();
    const { journal } = await openJournal({ directory, segmentBytesMax: 1 });
    journal.begin(idOf(0), startOf(0));
    replaceWithFullDevice(directory);
    expect(() => journal.begin(idOf(1), startOf(1))).toThrow(/cannot sync/);
    expect(segmentNames(directory)).toHaveLength(1);
    await expect(journal.close()).rejects.toThrow(/cannot sync/);
  });
});
