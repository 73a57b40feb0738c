import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { openJournal } from '../../../ledger/journal/journal.ts';
import { replaceWithFullDevice } from './fixtures/full-device.ts';
import { journalFolder } from './fixtures/journal-folder.ts';
import { finishedOf, idOf, startOf } from './fixtures/numbered-requests.ts';

const isLinux = process.platform === 'linux';
const LONG = JSON.stringify('x'.repeat(900));
const LONG_RECORD_BYTES = 9 + 16 + 6 + LONG.length;

describe.runIf(isLinux)('no room in the file system', () => {
  test('refuses the request, keeps every other record readable, and lets begun requests finish in a fresh segment', async () => {
    const directory = journalFolder();
    const writer = fileURLToPath(new URL('fixtures/limited-writer.ts', import.meta.url));
    // No file past 8 blocks of 1,024 bytes: the kernel takes a part of the last write and refuses the rest (EFBIG).
    const script = 'ulimit -f 8 && exec "$0" "$@"';
    const output = execFileSync('bash', ['-c', script, process.execPath, writer, directory], { encoding: 'utf8' });
    const whole = 20 + 8 * LONG_RECORD_BYTES;
    expect(JSON.parse(output)).toEqual({
      begun: 8,
      firstRefusal: 'full: disk',
      sizeAfterRefusal: whole,
      bytesAfterRefusal: whole,
      obstacleAfterRefusal: 'disk',
      refusedMeanwhile: 'full: disk',
      shortBegin: 'accepted',
      finishInFreshSegment: 'accepted',
      freshSize: 20 + 9 + 16 + LONG.length,
      laterBegin: 'accepted',
      finishTooLong: 'full: disk',
      obstacleAfterTooLong: 'disk',
      beginAfterTooLong: 'accepted',
      closed: 'closed',
    });

    const { journal, recovered, damaged, cutBytes } = await openJournal({ directory });
    expect({ damaged, cutBytes }).toEqual({ damaged: [], cutBytes: 0 });
    expect(recovered.map(({ requestId, finished }) => [requestId, finished])).toEqual([
      [idOf(0), LONG],
      ...[1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map((index) => [idOf(index), null]),
    ]);
    await journal.close();
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
