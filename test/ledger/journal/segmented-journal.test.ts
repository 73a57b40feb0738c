import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { RequestId } from '../../../contracts/ids.ts';
import { COMPACTION_SHARE } from '../../../ledger/journal/limits.ts';
import { openJournal } from '../../../ledger/journal/open-journal.ts';
import { journalFolder, openedJournal } from '../../fixtures/ledger/journal-folder.ts';
import { finishedOf, idOf, startOf } from '../../fixtures/ledger/numbered-requests.ts';
import { plainRecords, segmentNames } from './fixtures/plain-reader.ts';

describe('segments', () => {
  test('a segment is closed before a record that would take it past its size', async () => {
    const { directory, journal } = await openedJournal({ segmentBytesMax: 400 });
    for (let index = 0; index < 40; index++) journal.begin(idOf(index), startOf(index));
    const sizes = segmentNames(directory).map((file) => statSync(join(directory, file)).size);
    expect(sizes.length).toBeGreaterThan(5);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(400);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(journal.bytes);
  });

  test('a segment goes when it is not in use and everything in it is settled, oldest first', async () => {
    const { directory, journal } = await openedJournal({ segmentBytesMax: 1 });
    for (const index of [0, 1, 2, 3]) journal.begin(idOf(index), startOf(index));
    const names = segmentNames(directory);
    expect(names).toHaveLength(4);
    journal.settle([idOf(1), idOf(2)]);
    expect(journal.bytes).toBeGreaterThan(4 * 60);
    journal.settle([idOf(0)]);
    await expect.poll(() => segmentNames(directory)[0], { interval: 1 }).toBe(names[3]);
    journal.settle([idOf(3)]);
    await journal.close();
    expect(segmentNames(directory)).not.toContain(names[2]);
  });

  test('a healthy journal stays at one or two files', async () => {
    const { directory, journal } = await openedJournal({ segmentBytesMax: 4_096 });
    for (let index = 0; index < 2_000; index++) {
      journal.begin(idOf(index), startOf(index));
      journal.finish(idOf(index), finishedOf(index));
      if (index >= 5) journal.settle([idOf(index - 5)]);
      expect(journal.bytes).toBeLessThanOrEqual(2 * 4_096);
    }
    await journal.close();
    expect(segmentNames(directory).length).toBeLessThanOrEqual(2);
  });

  test('a long request does not keep what was written after it, and is recovered all the same', async () => {
    const { directory, journal } = await openedJournal({ segmentBytesMax: 4_096 });
    journal.begin(idOf(0), startOf(0));
    journal.begin(idOf(1), startOf(1));
    for (let index = 2; index < 2_000; index++) {
      journal.begin(idOf(index), startOf(index));
      journal.finish(idOf(index), finishedOf(index));
      journal.settle([idOf(index)]);
      if (index === 1_000) journal.finish(idOf(0), finishedOf(0));
      expect(journal.bytes).toBeLessThanOrEqual(2 * 4_096);
    }
    await journal.close();
    const { journal: again, recovered } = await openedJournal({ directory });
    expect(recovered).toEqual([
      { requestId: idOf(0), start: startOf(0), finished: finishedOf(0) },
      { requestId: idOf(1), start: startOf(1), finished: null },
    ]);
    again.settle([idOf(0), idOf(1)]);
  });

  test('of old segments so much is carried at once as a begin can wait for, and the rest later', async () => {
    const segmentBytesMax = 4_096;
    const { directory, journal } = await openedJournal({ segmentBytesMax });
    const newest = (): string => segmentNames(directory).at(-1) ?? '';
    let next = 0;
    const untilNextSegment = (each: (id: RequestId) => void): void => {
      for (const before = newest(); newest() === before; next++) {
        journal.begin(idOf(next), startOf(next));
        each(idOf(next));
      }
    };
    // The first segment is needed whole, which keeps those behind it, of which a ninth is needed.
    const needed: RequestId[] = [];
    untilNextSegment((id) => needed.push(id));
    for (let segments = 0; segments < 10; segments++)
      untilNextSegment((id) => {
        if (next % 9 > 0) journal.settle([id]);
      });
    journal.settle(needed);
    untilNextSegment((id) => journal.settle([id]));
    const begun = plainRecords(directory).filter(({ file, kind }) => file.endsWith(newest()) && kind === 1);
    const carriedBytes = begun.slice(0, -1).reduce((sum, { offset, end }) => sum + end - offset, 0);
    expect(carriedBytes).toBeGreaterThan(segmentBytesMax / COMPACTION_SHARE / 2);
    expect(carriedBytes).toBeLessThanOrEqual(segmentBytesMax / COMPACTION_SHARE);
    for (let segments = 0; segments < 10; segments++) untilNextSegment((id) => journal.settle([id]));
    expect(journal.bytes).toBeLessThanOrEqual(4 * segmentBytesMax);
  });

  test('a record that has changed on disk is not carried into a later segment', async () => {
    const directory = journalFolder();
    const { journal } = await openJournal({ directory, segmentBytesMax: 1_000 });
    journal.begin(idOf(0), startOf(0));
    const file = join(directory, segmentNames(directory)[0] ?? '');
    const bytes = readFileSync(file);
    bytes[45] = (bytes[45] ?? 0) ^ 1;
    writeFileSync(file, bytes, { flag: 'r+' });
    let index = 1;
    expect(() => {
      for (; index < 100; index++) {
        journal.begin(idOf(index), startOf(index));
        journal.settle([idOf(index)]);
      }
    }).toThrow(expect.objectContaining({ kind: 'input_output' }));
    expect(journal.obstacle).toBe('failed');
    await expect(journal.close()).rejects.toThrow(expect.objectContaining({ kind: 'input_output' }));
    expect(plainRecords(directory).filter((record) => record.ids[0] === idOf(0))).toHaveLength(1);
  });
});
