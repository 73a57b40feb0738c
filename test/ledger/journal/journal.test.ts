import { describe, expect, test } from 'vitest';
import { requestId } from '../../../contracts/ids.ts';
import type { Journal } from '../../../ledger/journal/journal.ts';
import { finishHeadroomBytes, JOURNAL_BOUNDS, TEXT_BYTES_MAX } from '../../../ledger/journal/limits.ts';
import { openJournal } from '../../../ledger/journal/open-journal.ts';
import { journalFolder, openedJournal } from '../../fixtures/ledger/journal-folder.ts';
import { finishedOf, idOf, startOf } from '../../fixtures/ledger/numbered-requests.ts';
import { plainRecords } from './fixtures/plain-reader.ts';

describe('what a journal hands over when it is opened again', () => {
  test('a request begun and not settled, with its end where it has one, in the order of their beginning', async () => {
    const { directory, journal, recovered } = await openedJournal();
    expect(recovered).toEqual([]);
    // Ids that do not sort in the order in which they begin.
    for (const index of [7, 3, 5, 1]) journal.begin(idOf(index), startOf(index));
    for (const index of [1, 3]) journal.finish(idOf(index), finishedOf(index));
    journal.settle([idOf(5)]);
    await journal.close();

    const again = await openedJournal({ directory });
    expect(again.recovered).toEqual([
      { requestId: idOf(7), start: startOf(7), finished: null },
      { requestId: idOf(3), start: startOf(3), finished: finishedOf(3) },
      { requestId: idOf(1), start: startOf(1), finished: finishedOf(1) },
    ]);
    expect(again).toMatchObject({ damaged: [], cutBytes: 0, journal: { open: 3 } });
  });

  test('the same once more, until it is settled', async () => {
    const { directory, journal } = await openedJournal();
    for (const index of [0, 1]) journal.begin(idOf(index), startOf(index));
    await journal.close();

    const second = await openedJournal({ directory });
    second.journal.settle([idOf(0)]);
    await second.journal.close();
    const third = await openedJournal({ directory });
    expect(third.recovered).toEqual([{ requestId: idOf(1), start: startOf(1), finished: null }]);
    third.journal.finish(idOf(1), finishedOf(1));
    third.journal.settle([idOf(1)]);
    await third.journal.close();
    const fourth = await openedJournal({ directory });
    expect(fourth.recovered).toEqual([]);
  });

  test('requests begun after a crash come after those before it', async () => {
    const directory = journalFolder();
    for (const indexes of [
      [5, 4],
      [3, 2],
      [1, 0],
    ]) {
      const { journal } = await openedJournal({ directory });
      for (const index of indexes) journal.begin(idOf(index), startOf(index));
      await journal.close();
    }
    const { recovered } = await openedJournal({ directory });
    expect(recovered.map((request) => request.requestId)).toEqual([5, 4, 3, 2, 1, 0].map(idOf));
  });
});

describe('what is in the file when a call returns', () => {
  test('the start and the end at once, the settled requests with the next write', async () => {
    const { directory, journal } = await openedJournal({ backgroundSyncMs: 60_000 });
    const kinds = (): number[] => plainRecords(directory).map((record) => record.kind);
    journal.begin(idOf(0), startOf(0));
    expect(kinds()).toEqual([1]);
    journal.finish(idOf(0), finishedOf(0));
    expect(kinds()).toEqual([1, 2]);
    journal.begin(idOf(1), startOf(1));
    journal.settle([idOf(0), idOf(1)]);
    expect(kinds()).toEqual([1, 2, 1]);
    journal.begin(idOf(2), startOf(2));
    expect(kinds()).toEqual([1, 2, 1, 3, 1]);
    expect(plainRecords(directory)[3]?.ids).toEqual([idOf(0), idOf(1)]);
  });

  test('more settled requests than may wait are written without another write', async () => {
    const { directory, journal } = await openedJournal({ backgroundSyncMs: 60_000 });
    const ids = Array.from({ length: 2_500 }, (_, index) => idOf(index));
    for (const id of ids) journal.begin(id, '{}');
    journal.settle(ids);
    const settled = plainRecords(directory).filter((record) => record.kind === 3);
    expect(settled.flatMap((record) => record.ids)).toEqual(ids.slice(0, 2_048));
  });
});

describe('bounds', () => {
  const fill = (journal: Journal): number => {
    let begun = 0;
    for (; journal.obstacle === null; begun++) journal.begin(idOf(begun), startOf(begun));
    return begun;
  };

  test('at bytesMax no request begins, every begun one finishes, and settling makes room', async () => {
    const directory = journalFolder();
    const bounds = { ...JOURNAL_BOUNDS, segmentBytesMax: 2_000, bytesMax: 10_000 };
    const { journal } = await openedJournal({ directory, ...bounds });
    const begun = fill(journal);
    expect(journal.bytes).toBeGreaterThanOrEqual(10_000);
    expect(() => journal.begin(idOf(begun), startOf(begun))).toThrow(
      expect.objectContaining({ name: 'JournalFull', bound: 'bytesMax', message: expect.stringContaining('10000') }),
    );
    const ids = Array.from({ length: begun }, (_, index) => idOf(index));
    for (const [index, id] of ids.entries()) journal.finish(id, finishedOf(index));
    expect(journal.bytes).toBeGreaterThan(12_000);
    expect(journal.bytes).toBeLessThan(10_000 + finishHeadroomBytes(bounds));
    journal.settle(ids);
    expect(journal).toMatchObject({ obstacle: null, open: 0 });
    journal.begin(idOf(begun), startOf(begun));
  });

  test('the same holds after a restart', async () => {
    const directory = journalFolder();
    const bounds = { segmentBytesMax: 2_000, bytesMax: 4_000 };
    const { journal } = await openedJournal({ directory, ...bounds });
    const begun = fill(journal);
    await journal.close();
    const again = await openedJournal({ directory, ...bounds });
    expect(again.journal.obstacle).toBe('bytesMax');
    for (let index = 0; index < begun; index++) again.journal.finish(idOf(index), finishedOf(index));
  });

  test('unfinished requests are bounded, finished ones that wait for the ledger are not', async () => {
    const { journal } = await openedJournal({ unfinishedMax: 3 });
    expect(fill(journal)).toBe(3);
    expect(() => journal.begin(idOf(3), startOf(3))).toThrow(expect.objectContaining({ bound: 'unfinishedMax' }));
    journal.finish(idOf(1), finishedOf(1));
    journal.begin(idOf(3), startOf(3));
    expect(journal).toMatchObject({ obstacle: 'unfinishedMax', open: 4 });
    journal.settle([idOf(0)]);
    expect(journal).toMatchObject({ obstacle: null, open: 3 });
  });

  test('bounds that contradict one another are refused', async () => {
    const directory = journalFolder();
    await expect(openJournal({ directory, segmentBytesMax: 100, bytesMax: 199 })).rejects.toThrow(/on its way out/);
    await expect(openJournal({ directory, unfinishedMax: 1_000_000 })).rejects.toThrow(/can finish/);
    await expect(openJournal({ directory, syncPauseMs: 9, backgroundSyncMs: 8 })).rejects.toThrow(/waits no longer/);
    await expect(openJournal({ directory, bytesMax: Number.NaN })).rejects.toThrow(/bytesMax must be/);
  });
});

describe('misuse', () => {
  test('a request begins once, finishes once and after it has begun, and its texts are bounded', async () => {
    const { directory, journal } = await openedJournal();
    journal.begin(idOf(0), startOf(0));
    journal.finish(idOf(0), finishedOf(0));
    expect(() => journal.begin(idOf(0), startOf(0))).toThrow(/begins once/);
    expect(() => journal.finish(idOf(0), finishedOf(0))).toThrow(/finishes once/);
    expect(() => journal.finish(idOf(1), finishedOf(1))).toThrow(/finishes once/);
    expect(() => journal.begin(requestId('req_0'), '{}')).toThrow(/hexadecimal/);
    expect(() => journal.begin(idOf(1), 'é'.repeat(TEXT_BYTES_MAX / 2 + 1))).toThrow(/at most 16384 bytes/);
    journal.begin(idOf(2), 'é'.repeat(TEXT_BYTES_MAX / 2));
    journal.settle([idOf(8), idOf(0), idOf(0)]);
    await journal.close();
    const { recovered } = await openedJournal({ directory });
    expect(recovered).toEqual([{ requestId: idOf(2), start: 'é'.repeat(TEXT_BYTES_MAX / 2), finished: null }]);
  });

  test('a closed journal refuses every call but settle and close', async () => {
    const { journal } = await openedJournal();
    journal.begin(idOf(0), startOf(0));
    const closing = journal.close();
    const isClosed = expect.objectContaining({ name: 'JournalError', kind: 'closed' });
    expect(() => journal.begin(idOf(1), startOf(1))).toThrow(isClosed);
    expect(() => journal.finish(idOf(0), finishedOf(0))).toThrow(isClosed);
    await expect(journal.durable()).rejects.toThrow(isClosed);
    expect(journal.obstacle).toBe('closed');
    await expect(journal.close()).resolves.toBeUndefined();
    await closing;
  });
});
