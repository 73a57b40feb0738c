import { describe, expect, test } from 'vitest';
import { type Journal, openJournal } from '../../../ledger/journal/journal.ts';
import { JournalFull } from '../../../ledger/journal/journal-error.ts';
import { finishedOf, idOf, startOf } from './fixtures/numbered-requests.ts';
import { canMount, smallDisk } from './fixtures/small-disk.ts';

const KIB = 1024;
const DISK_KIB = 1_024;
const BOUNDS = {
  segmentBytesMax: 16 * KIB,
  reserveBytes: 128 * KIB,
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

  test('whose reserve is used up, too, refuses an end and takes the next one when there is room, without a restart', async () => {
    const disk = smallDisk(DISK_KIB);
    const { journal } = await openJournal({ directory: disk.folder, ...BOUNDS, reserveBytes: 4 * KIB });
    disk.leaveFree(32 * KIB);
    const begun = beginUntilFull(journal, 0);
    const refused = numbers(0, begun).filter((index) => {
      try {
        journal.finish(idOf(index), finishedOf(index));
        return false;
      } catch (error) {
        expect(error).toMatchObject({ kind: 'full', bound: 'disk' });
        return true;
      }
    });
    expect(refused.length).toBeGreaterThan(0);
    expect(refused.length).toBeLessThan(begun);
    disk.clear();
    await freeAgain(journal);
    for (const index of refused) journal.finish(idOf(index), finishedOf(index));
    await journal.close();
    const { journal: again, recovered } = await openJournal({ directory: disk.folder, ...BOUNDS });
    expect(recovered.map(({ finished }) => finished)).toEqual(numbers(0, begun).map(finishedOf));
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
