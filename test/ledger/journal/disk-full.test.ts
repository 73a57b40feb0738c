import { readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { Journal } from '../../../ledger/journal/journal.ts';
import { JournalFull } from '../../../ledger/journal/journal-error.ts';
import { TEXT_BYTES_MAX } from '../../../ledger/journal/limits.ts';
import { openJournal } from '../../../ledger/journal/open-journal.ts';
import { readJournal } from '../../../ledger/journal/recovery.ts';
import { finishedOf, idOf, startOf } from '../../fixtures/ledger/numbered-requests.ts';
import { canMount, smallDisk } from '../../fixtures/ledger/small-disk.ts';

const KIB = 1024;
const DISK_KIB = 2_048;
const BOUNDS = {
  segmentBytesMax: 16 * KIB,
  reserveBytes: 512 * KIB,
  reserveMarginBytes: 32 * KIB,
  reserveLookMs: 5,
};

/** Begins requests from a number on until one is refused; the first number that was. */
function beginUntilFull(journal: Journal, from: number): number {
  for (let index = from; ; index++) {
    try {
      journal.begin(idOf(index), startOf(index));
    } catch (error) {
      expect(error).toBeInstanceOf(JournalFull);
      expect(error).toMatchObject({ bound: 'disk', message: expect.stringContaining('the disk has no room') });
      return index;
    }
  }
}

const numbers = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, index) => from + index);
const freeAgain = (journal: Journal) => expect.poll(() => journal.obstacle, { interval: 5 }).toBeNull();

if (!canMount) console.warn('no file system can be mounted here: the tests of a full disk are left out');

describe.runIf(canMount)('a disk that is full', () => {
  test('refuses beginnings, lets every begun request finish in the reserve, and goes on when there is room', async () => {
    const disk = smallDisk(DISK_KIB);
    const { journal } = await openJournal({ directory: disk.folder, ...BOUNDS });
    disk.leaveFree(8 * KIB);
    const begun = beginUntilFull(journal, 0);
    expect(begun).toBeGreaterThan(20);
    expect(journal.obstacle).toBe('disk');
    // Some time later it is as full as before, and still nothing begins.
    await new Promise((resolve) => setTimeout(resolve, 4 * BOUNDS.reserveLookMs));
    expect(beginUntilFull(journal, begun)).toBe(begun);
    for (const index of numbers(0, begun)) journal.finish(idOf(index), finishedOf(index));
    await journal.durable();
    expect(journal.obstacle).toBe('disk');
    disk.clear();
    await freeAgain(journal);
    journal.begin(idOf(begun), startOf(begun));
    await journal.close();
    const { journal: again, recovered, damaged } = await openJournal({ directory: disk.folder, ...BOUNDS });
    expect(damaged).toEqual([]);
    expect(recovered).toEqual([
      ...numbers(0, begun).map((index) => ({
        requestId: idOf(index),
        start: startOf(index),
        finished: finishedOf(index),
      })),
      { requestId: idOf(begun), start: startOf(begun), finished: null },
    ]);
    await again.close();
  });

  test('takes every end, each as long as one can be, though others take all the room that there is meanwhile', async () => {
    const disk = smallDisk(DISK_KIB);
    const { journal } = await openJournal({ directory: disk.folder, ...BOUNDS });
    disk.leaveFree(700 * KIB);
    const begun = beginUntilFull(journal, 0);
    // More than the reserve had room for: it has grown, as far as there was room.
    expect(begun).toBeGreaterThan(BOUNDS.reserveBytes / TEXT_BYTES_MAX);
    const longestOf = (index: number): string => JSON.stringify(`${index} `.padEnd(TEXT_BYTES_MAX - 2, 'x'));
    for (const index of numbers(0, begun)) {
      disk.leaveFree(0);
      journal.finish(idOf(index), longestOf(index));
    }
    await journal.durable();
    // The words that they are settled have room, too.
    journal.settle(numbers(0, begun - 2).map(idOf));
    await journal.durable();
    expect(journal.obstacle).toBe('disk');
    const left = [begun - 2, begun - 1].map((index) => ({
      requestId: idOf(index),
      start: startOf(index),
      finished: longestOf(index),
    }));
    // What kill -9 leaves: the rest of the room is no damage.
    expect(readJournal(disk.folder)).toMatchObject({ recovered: left, damaged: [], isRoom: true });
    disk.clear();
    await freeAgain(journal);
    journal.begin(idOf(begun), startOf(begun));
    await journal.close();
    const again = await openJournal({ directory: disk.folder, ...BOUNDS });
    expect(again).toMatchObject({
      damaged: [],
      cutBytes: 0,
      recovered: [...left, { requestId: idOf(begun), start: startOf(begun), finished: null }],
    });
    await again.journal.close();
  });

  test('has no room for one more while what is left of a reserve is for those that have begun', async () => {
    const disk = smallDisk(DISK_KIB);
    const { journal } = await openJournal({ directory: disk.folder, ...BOUNDS });
    for (const index of numbers(0, 8)) journal.begin(idOf(index), startOf(index));
    disk.leaveFree(0);
    for (let index = 0; journal.obstacle === null; index++)
      journal.finish(idOf(index), finishedOf(index).padEnd(4_096));
    expect(beginUntilFull(journal, 8)).toBe(8);
    expect(readdirSync(disk.folder)).not.toContain('reserve');
    disk.clear();
    await freeAgain(journal);
    expect(readdirSync(disk.folder)).toContain('reserve');
    await journal.close();
  });

  test('lets an old segment stay that it has no room to be emptied into, and lets it go when there is room', async () => {
    const disk = smallDisk(DISK_KIB);
    const segmentBytesMax = 64 * KIB;
    const { journal } = await openJournal({ directory: disk.folder, ...BOUNDS, segmentBytesMax });
    // Some 14 KiB of the first segment are needed on, and the rest of it is not.
    const longest = JSON.stringify('x'.repeat(TEXT_BYTES_MAX - 2_048));
    journal.begin(idOf(0), longest);
    let begun = 1;
    const beginOne = (): void => {
      journal.begin(idOf(begun), startOf(begun));
      journal.settle([idOf(begun++)]);
    };
    while (journal.bytes < segmentBytesMax - KIB) beginOne();
    const segments = (): string[] => readdirSync(disk.folder).filter((name) => name.endsWith('.journal'));
    const [oldest = ''] = segments();
    disk.leaveFree(4 * KIB);
    // A page is left: the next segment begins on it, and what begins now stands there.
    for (let times = 0; times < 15; times++) beginOne();
    expect(segments()).toHaveLength(2);
    expect(segments()).toContain(oldest);
    expect(journal.obstacle).toBe(null);
    disk.clear();
    while (segments().includes(oldest)) {
      beginOne();
      await journal.durable();
      expect(begun).toBeLessThan(10_000);
    }
    await journal.close();
    const { journal: again, recovered, damaged } = await openJournal({ directory: disk.folder, ...BOUNDS });
    expect(damaged).toEqual([]);
    expect(recovered).toEqual([{ requestId: idOf(0), start: longest, finished: null }]);
    await again.close();
  });

  test('is no hindrance to a start: what the last run left is handed over, and nothing begins before there is room', async () => {
    const disk = smallDisk(DISK_KIB);
    const first = await openJournal({ directory: disk.folder, ...BOUNDS });
    first.journal.begin(idOf(0), startOf(0));
    first.journal.finish(idOf(0), finishedOf(0));
    await first.journal.close();
    disk.leaveFree(0);
    const { journal, recovered } = await openJournal({ directory: disk.folder, ...BOUNDS });
    expect(recovered).toEqual([{ requestId: idOf(0), start: startOf(0), finished: finishedOf(0) }]);
    expect(journal.obstacle).toBe('disk');
    journal.settle([idOf(0)]);
    disk.clear();
    await freeAgain(journal);
    await journal.close();
    expect(
      await openJournal({ directory: disk.folder, ...BOUNDS }).then(({ recovered: left, journal: last }) =>
        last.close().then(() => left),
      ),
    ).toEqual([]);
  });
});
