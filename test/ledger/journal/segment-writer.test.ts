import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { openJournal } from '../../../ledger/journal/open-journal.ts';
import { replaceWithFullDevice } from '../../fixtures/ledger/full-device.ts';
import { journalFolder, openedJournal } from '../../fixtures/ledger/journal-folder.ts';
import { finishedOf, idOf, startOf } from '../../fixtures/ledger/numbered-requests.ts';

const isLinux = process.platform === 'linux';
const LONG = JSON.stringify('x'.repeat(900));
const LONG_RECORD_BYTES = 9 + 16 + 6 + LONG.length;

describe.runIf(isLinux)('no room in the file system', () => {
  test('refuses the request, keeps every other record readable, and lets begun requests finish in the room kept for it', async () => {
    const directory = journalFolder();
    const writer = fileURLToPath(new URL('fixtures/limited-writer.ts', import.meta.url));
    // No file past 128 blocks of 1,024 bytes: the kernel takes a part of the last write and refuses the rest (EFBIG).
    const script = 'ulimit -f 128 && exec "$0" "$@"';
    const output = execFileSync('bash', ['-c', script, process.execPath, writer, directory], { encoding: 'utf8' });
    const told = JSON.parse(output);
    const { begun } = told;
    const finishRecordBytes = 9 + 16 + LONG.length;
    const whole = 20 + begun * LONG_RECORD_BYTES - 600 + (begun - 1) * finishRecordBytes;
    expect(whole).toBeGreaterThan(127 * 1_024);
    expect(told).toEqual({
      begun,
      firstRefusal: 'full: disk',
      sizeAfterRefusal: whole,
      bytesAfterRefusal: whole,
      obstacleAfterRefusal: 'disk',
      refusedMeanwhile: 'full: disk',
      finishInReserve: 'accepted',
      reserveBytes: expect.toSatisfy((bytes) => bytes >= 40 * 1_024),
      obstacleAfterFinish: 'disk',
      laterBegin: 'accepted',
      closed: 'closed',
      sizeAfterClose: 20 + finishRecordBytes + LONG_RECORD_BYTES,
    });

    const { recovered, damaged, cutBytes } = await openedJournal({ directory });
    expect({ damaged, cutBytes }).toEqual({ damaged: [], cutBytes: 0 });
    expect(recovered.map(({ requestId, finished }) => [requestId, finished])).toEqual([
      ...Array.from({ length: begun }, (_, index) => [idOf(index), LONG]),
      [idOf(begun), null],
    ]);
  });

  test('where the part that was written cannot be cut off, nothing is written after it', async () => {
    const directory = journalFolder();
    const { journal } = await openJournal({ directory });
    journal.begin(idOf(0), startOf(0));
    replaceWithFullDevice(directory);
    const isBroken = expect.objectContaining({
      kind: 'input_output',
      cause: expect.objectContaining({ name: 'TornSegment' }),
    });
    expect(() => journal.begin(idOf(1), startOf(1))).toThrow(isBroken);
    expect(() => journal.begin(idOf(2), startOf(2))).toThrow(isBroken);
    expect(() => journal.finish(idOf(0), finishedOf(0))).toThrow(isBroken);
    expect(journal).toMatchObject({ obstacle: 'failed', open: 1 });
    await expect(journal.durable()).rejects.toThrow(isBroken);
    await expect(journal.close()).rejects.toThrow(isBroken);
    const { journal: again, recovered } = await openJournal({ directory });
    expect(recovered).toEqual([{ requestId: idOf(0), start: startOf(0), finished: null }]);
    await again.close();
  });
});
