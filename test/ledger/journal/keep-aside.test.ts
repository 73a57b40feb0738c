import { cpSync, existsSync, readFileSync, rmSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { asideFolder } from '../../../ledger/journal/aside-folder.ts';
import type { Journal } from '../../../ledger/journal/journal.ts';
import { JournalWithAside } from '../../../ledger/journal/journal-with-aside.ts';
import { checkedBounds, JOURNAL_BOUNDS } from '../../../ledger/journal/limits.ts';
import { openSegments } from '../../../ledger/journal/open-segments.ts';
import { readBesideGateway } from '../../../ledger/journal/read-beside-gateway.ts';
import { readJournal } from '../../../ledger/journal/recovery.ts';
import { endedLater } from '../../fixtures/ended-later.ts';
import { journalFolder, openedJournal } from '../../fixtures/ledger/journal-folder.ts';
import { finishedOf, idOf, startOf } from '../../fixtures/ledger/numbered-requests.ts';
import { segmentNames } from './fixtures/plain-reader.ts';

const BOUNDS = { segmentBytesMax: 2_000, bytesMax: 10_000, reserveBytes: 4_096, reserveLookMs: 5 };

const open = (directory: string, bounds: Partial<typeof BOUNDS> = {}) =>
  openedJournal({ directory, ...BOUNDS, ...bounds });

/** Begins and ends requests until no more may begin, and returns their ids. */
function fill(journal: Journal, from = 0) {
  const ids = [];
  for (let index = from; journal.obstacle === null; index++) {
    journal.begin(idOf(index), startOf(index));
    journal.finish(idOf(index), finishedOf(index));
    ids.push(idOf(index));
  }
  return ids;
}

const ended = (index: number) => ({ requestId: idOf(index), start: startOf(index), finished: finishedOf(index) });
const idsIn = (folder: string) => readJournal(folder).recovered.map(({ requestId }) => requestId);

describe('requests that are kept aside', () => {
  /** Whose sync aside waits for `disk`. */
  async function slowlySynced(directory: string) {
    const bounds = checkedBounds({ ...JOURNAL_BOUNDS, ...BOUNDS });
    const { journal: main } = await openSegments(directory, bounds);
    const { journal: aside } = await openSegments(asideFolder(directory), bounds);
    const openAside = () => Promise.reject(new Error('it is open'));
    const journal = endedLater(new JournalWithAside({ main, aside, openAside, lookMs: 5 }));
    const disk = Promise.withResolvers<void>();
    const synced = vi.spyOn(aside, 'durable').mockReturnValue(disk.promise);
    const whenMoving = () => expect.poll(() => synced.mock.calls.length).toBe(1);
    return { journal, main, aside, disk, whenMoving };
  }

  test('are on disk there before the first journal forgets them', async () => {
    const { journal, main, aside, disk, whenMoving } = await slowlySynced(journalFolder());
    journal.begin(idOf(0), startOf(0));
    journal.finish(idOf(0), finishedOf(0));
    journal.keepAside([idOf(0)]);
    await whenMoving();
    expect([aside.has(idOf(0)), main.has(idOf(0))]).toEqual([true, true]);
    disk.resolve();
    await expect.poll(() => main.has(idOf(0))).toBe(false);
  });

  test('stay in the first where they end on the way, and are told once, with their end', async () => {
    const directory = journalFolder();
    const { journal, main, disk, whenMoving } = await slowlySynced(directory);
    for (const index of [0, 1]) journal.begin(idOf(index), startOf(index));
    journal.keepAside([idOf(0), idOf(1)]);
    await whenMoving();
    journal.finish(idOf(0), finishedOf(0));
    disk.resolve();
    await expect.poll(() => main.has(idOf(1))).toBe(false);
    await journal.close();
    const { recovered } = await open(directory);
    expect(recovered).toEqual([ended(0), { requestId: idOf(1), start: startOf(1), finished: null }]);
  });

  test('do not count to bytesMax, are there after a restart, and go when they are settled', async () => {
    const directory = journalFolder();
    const { journal } = await open(directory);
    const ids = fill(journal);
    expect(journal.obstacle).toBe('bytesMax');
    expect(existsSync(asideFolder(directory))).toBe(false);
    journal.keepAside(ids);
    await expect.poll(() => journal.bytes).toBeLessThan(BOUNDS.segmentBytesMax);
    expect(journal).toMatchObject({ obstacle: null, open: ids.length });
    expect(journal.asideBytes).toBeGreaterThan(BOUNDS.bytesMax / 2);
    expect(readBesideGateway(directory)).toEqual(ids.map((_, index) => ended(index)));
    await journal.close();
    expect([idsIn(directory), idsIn(asideFolder(directory))]).toEqual([[], ids]);

    const again = await open(directory);
    expect(again.recovered).toEqual(ids.map((_, index) => ended(index)));
    expect(again.journal).toMatchObject({ open: ids.length, obstacle: null });
    again.journal.settle(ids);
    expect(again.journal.open).toBe(0);
    expect(again.journal.asideBytes).toBe(0);
    await again.journal.close();
    expect((await open(directory)).recovered).toEqual([]);
  });

  test('hold up no segment of the others, however many follow', async () => {
    const { journal } = await open(journalFolder());
    const aside = fill(journal);
    journal.keepAside(aside);
    await expect.poll(() => journal.bytes).toBeLessThan(BOUNDS.segmentBytesMax);
    for (let index = aside.length; index < 500; index++) {
      journal.begin(idOf(index), startOf(index));
      journal.finish(idOf(index), finishedOf(index));
      journal.settle([idOf(index)]);
    }
    expect(journal.bytes).toBeLessThan(2 * BOUNDS.segmentBytesMax);
    expect(journal.open).toBe(aside.length);
  });

  test('may take as much again; what is beyond that counts until there is room', async () => {
    const { journal } = await open(journalFolder());
    const halfFull = (from: number) => {
      const ids = fill(journal, from);
      journal.settle(ids.slice(60));
      return ids.slice(0, 60);
    };
    const first = halfFull(0);
    journal.keepAside(first);
    await expect.poll(() => journal.asideBytes).toBeGreaterThan(BOUNDS.bytesMax / 2);
    expect(journal.asideBytes).toBeLessThan(BOUNDS.bytesMax);
    // Until they are synced there, they take their room here, too.
    await expect.poll(() => journal.open).toBe(first.length);
    await expect.poll(() => journal.bytes).toBeLessThan(BOUNDS.segmentBytesMax);
    const second = halfFull(1_000);
    journal.keepAside(second);
    await expect.poll(() => journal.asideBytes).toBeGreaterThanOrEqual(BOUNDS.bytesMax);
    expect(journal.asideBytes).toBeLessThan(BOUNDS.bytesMax + BOUNDS.segmentBytesMax);
    expect(journal.bytes).toBeGreaterThan(BOUNDS.segmentBytesMax);
    journal.settle(first);
    await expect.poll(() => journal.bytes).toBeLessThan(BOUNDS.segmentBytesMax);
    expect(journal.open).toBe(second.length);
  });

  test('are taken as they are: without an end, settled meanwhile, unknown, or named twice', async () => {
    const directory = journalFolder();
    const { journal } = await open(directory);
    for (const index of [0, 1, 2]) journal.begin(idOf(index), startOf(index));
    journal.finish(idOf(1), finishedOf(1));
    journal.keepAside([idOf(0), idOf(1), idOf(2), idOf(1), idOf(9)]);
    journal.settle([idOf(2)]);
    await expect.poll(() => journal.asideBytes).toBeGreaterThan(0);
    await journal.close();
    const { recovered } = await open(directory);
    expect(recovered).toEqual([{ requestId: idOf(0), start: startOf(0), finished: null }, ended(1)]);
  });

  test('are settled while they move, and do not come back', async () => {
    const directory = journalFolder();
    const { journal } = await open(directory, { bytesMax: 1_000_000 });
    const ids = Array.from({ length: 300 }, (_, index) => idOf(index));
    for (const [index, id] of ids.entries()) journal.begin(id, startOf(index));
    journal.keepAside(ids);
    await expect.poll(() => journal.asideBytes, { interval: 1 }).toBeGreaterThan(0);
    journal.settle(ids);
    await journal.close();
    expect((await open(directory)).recovered).toEqual([]);
  });
});

test('a crash at any instant of the way aside leaves each request in one of the two folders or in both, and it is told once', async () => {
  const directory = journalFolder();
  const aside = asideFolder(directory);
  const before = join(directory, '..', 'before');
  const after = join(directory, '..', 'after');
  const { journal } = await open(directory);
  for (const index of [0, 1, 2]) journal.begin(idOf(index), startOf(index));
  for (const index of [1, 2]) journal.finish(idOf(index), finishedOf(index));
  cpSync(directory, before, { recursive: true });
  journal.keepAside([idOf(0), idOf(1)]);
  await expect.poll(() => journal.asideBytes).toBeGreaterThan(0);
  await journal.close();
  cpSync(aside, after, { recursive: true });
  const file = segmentNames(after).at(-1) ?? '';
  const whole = readFileSync(join(after, file)).length;
  const all = [{ requestId: idOf(0), start: startOf(0), finished: null }, ended(1), ended(2)];
  // The first folder does not know yet that they are aside, and of the other's file so much has reached the disk.
  for (let cut = whole; cut >= 0; cut -= 3) {
    for (const [from, to] of [
      [before, directory],
      [after, aside],
    ] as const) {
      rmSync(to, { recursive: true, force: true });
      cpSync(from, to, { recursive: true });
    }
    truncateSync(join(aside, file), cut);
    const told = readBesideGateway(directory).toSorted((left, right) => left.requestId.localeCompare(right.requestId));
    expect([cut, told]).toEqual([cut, all]);
  }
  // Its start is aside, its end is not.
  cpSync(join(after, file), join(aside, file));
  truncateSync(join(aside, file), whole - 1);
  const again = await open(directory);
  expect(again.recovered).toHaveLength(3);
  again.journal.keepAside([idOf(0), idOf(1)]);
  await expect.poll(() => idsIn(directory)).toEqual([idOf(2)]);
  await again.journal.close();
  expect(readJournal(aside).recovered).toEqual(all.slice(0, 2));
  const last = await open(directory);
  last.journal.settle([idOf(0), idOf(1), idOf(2)]);
  await last.journal.close();
  expect(readBesideGateway(directory)).toEqual([]);
});
