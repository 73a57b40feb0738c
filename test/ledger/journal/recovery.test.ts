import {
  closeSync,
  copyFileSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { JournalError } from '../../../ledger/journal/journal-error.ts';
import { openJournal } from '../../../ledger/journal/open-journal.ts';
import { readJournal } from '../../../ledger/journal/recovery.ts';
import { encodeHeader } from '../../../ledger/journal/segment-header.ts';
import { journalFolder, openedJournal } from '../../fixtures/ledger/journal-folder.ts';
import { finishedOf, idOf, startOf } from '../../fixtures/ledger/numbered-requests.ts';
import { steps, takeSteps } from './fixtures/journal-steps.ts';
import { type PlainRecord, plainRecords, plainRecovery, segmentNames } from './fixtures/plain-reader.ts';

const HEADER_BYTES = 20;

/** Runs the property in a folder that is empty at first each time. */
async function inFolders(runs: number, property: (directory: string, image: string, chosen: number) => Promise<void>) {
  const parent = journalFolder();
  await fc.assert(
    fc.asyncProperty(steps, fc.nat({ max: 1_000_000 }), async (taken, chosen) => {
      const directory = join(parent, 'written');
      const image = join(parent, 'image');
      for (const folder of [directory, image]) rmSync(folder, { recursive: true, force: true });
      const expected = await takeSteps(directory, taken);
      expect(readJournal(directory).recovered).toEqual(expected);
      mkdirSync(image);
      for (const file of segmentNames(directory)) copyFileSync(join(directory, file), join(image, file));
      await property(directory, image, chosen);
    }),
    { numRuns: runs },
  );
}

function flipByte(file: string, at: number): Buffer {
  const bytes = readFileSync(file);
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  writeFileSync(file, bytes);
  return bytes;
}
const lastFile = (directory: string): string => join(directory, segmentNames(directory).at(-1) ?? '');
const inFile = (records: readonly PlainRecord[], file: string): PlainRecord[] =>
  records.filter((record) => basename(record.file) === basename(file));

describe('a crash at any instant', () => {
  test('loses nothing of what was wholly written, wherever the last file is cut', async () => {
    await inFolders(15, async (directory, image) => {
      const records = plainRecords(directory);
      const file = lastFile(image);
      const whole = readFileSync(file);
      for (let cut = whole.length; cut >= 0; cut--) {
        truncateSync(file, cut);
        const kept = records.filter((record) => basename(record.file) !== basename(file) || record.end <= cut);
        const validEnd = inFile(kept, file).at(-1)?.end ?? (cut < HEADER_BYTES ? 0 : HEADER_BYTES);
        const { recovered, damaged, tornBytes } = readJournal(image);
        expect({ recovered, damaged, tornBytes }).toEqual({
          recovered: plainRecovery(kept),
          damaged: [],
          tornBytes: cut - validEnd,
        });
      }
    });
  });

  test('is recovered from the same way twice, and only the first time cuts', async () => {
    await inFolders(40, async (_directory, image, chosen) => {
      const file = lastFile(image);
      truncateSync(file, chosen % (readFileSync(file).length + 1));
      const torn = readJournal(image);
      const first = await openedJournal({ reserveBytes: 4_096, directory: image });
      await first.journal.close();
      const second = await openedJournal({ reserveBytes: 4_096, directory: image });
      await second.journal.close();
      expect(first).toMatchObject({ recovered: torn.recovered, damaged: [], cutBytes: torn.tornBytes });
      expect(second).toMatchObject({ recovered: torn.recovered, damaged: [], cutBytes: 0 });
      expect(second.journal.open).toBe(torn.recovered.length);
    });
  });

  test('before the word that a request is settled was written, yet after its start went, does not bring back its end', async () => {
    const directory = journalFolder();
    const { journal } = await openJournal({
      reserveBytes: 4_096,
      directory,
      segmentBytesMax: 1,
      backgroundSyncMs: 60_000,
    });
    for (const index of [0, 1]) journal.begin(idOf(index), startOf(index));
    journal.finish(idOf(0), finishedOf(0));
    journal.settle([idOf(0)]);
    await expect.poll(() => segmentNames(directory), { interval: 1 }).toHaveLength(2);
    // What a process that is killed now leaves behind.
    expect(plainRecords(directory).map(({ kind, ids }) => [kind, ids])).toEqual([
      [1, [idOf(1)]],
      [2, [idOf(0)]],
    ]);
    expect(readJournal(directory)).toMatchObject({
      recovered: [{ requestId: idOf(1), start: startOf(1), finished: null }],
      damaged: [],
    });
  });

  test('zeros that a file system left at the end are cut off', async () => {
    await inFolders(3, async (_directory, image, chosen) => {
      const { recovered } = readJournal(image);
      const zeros = 1 + (chosen % 5_000);
      writeFileSync(lastFile(image), Buffer.alloc(zeros), { flag: 'a' });
      expect(readJournal(image)).toMatchObject({ recovered, damaged: [], tornBytes: zeros });
    });
  });
});

describe('damage', () => {
  test('of any one byte is reported, or is the torn end; all other records are handed over as they were', async () => {
    await inFolders(8, async (directory, image, chosen) => {
      const records = plainRecords(directory);
      for (const name of segmentNames(image)) {
        const file = join(image, name);
        const whole = readFileSync(file);
        // In place: a file that is written anew thousands of times waits for the disk.
        const fd = openSync(file, 'r+');
        for (const [at, byte] of whole.entries()) {
          // The low bits turn one kind of record into another.
          for (const mask of [1, 2, 3, 4 + ((chosen + at) % 252)]) {
            writeSync(fd, Buffer.of(byte ^ mask), 0, 1, at);
            checkFlip(records, image, file, at);
          }
          writeSync(fd, Buffer.of(byte), 0, 1, at);
        }
        closeSync(fd);
      }
    });
  });

  function checkFlip(records: readonly PlainRecord[], image: string, file: string, at: number): void {
    if (at < HEADER_BYTES) {
      expect(() => readJournal(image)).toThrow(JournalError);
      expect(() => readJournal(image)).toThrow(file);
      return;
    }
    const hit = inFile(records, file).find((record) => record.offset <= at && at < record.end);
    const others = records.filter((record) => record !== hit);
    const isLast = hit === records.at(-1);
    const stretch = { offset: hit?.offset, bytes: (hit?.end ?? 0) - (hit?.offset ?? 0) };
    const { recovered, damaged, tornBytes } = readJournal(image);
    expect({ recovered, damaged, tornBytes }).toEqual({
      recovered: plainRecovery(others, !isLast),
      damaged: isLast ? [] : [{ file, ...stretch }],
      tornBytes: isLast ? stretch.bytes : 0,
    });
  }

  test('stays in the folder under another name when the journal has no more use for the segment', async () => {
    const { directory, journal } = await openedJournal({ reserveBytes: 4_096 });
    for (const index of [0, 1]) journal.begin(idOf(index), startOf(index));
    await journal.close();
    const file = lastFile(directory);
    const bytes = flipByte(file, 40);

    const second = await openedJournal({ reserveBytes: 4_096, directory });
    expect(second.recovered).toEqual([{ requestId: idOf(1), start: startOf(1), finished: null }]);
    expect(second.damaged).toEqual([{ file, offset: 20, bytes: expect.any(Number) }]);
    second.journal.settle([idOf(1)]);
    await second.journal.close();
    expect(readFileSync(`${file}.damaged`)).toEqual(bytes);
    const third = await openedJournal({ reserveBytes: 4_096, directory });
    expect(third).toMatchObject({ recovered: [], damaged: [] });
  });

  test('that takes a start leaves the end, which stays until it is settled', async () => {
    const { directory, journal } = await openedJournal({ reserveBytes: 4_096 });
    journal.begin(idOf(0), startOf(0));
    journal.finish(idOf(0), finishedOf(0));
    await journal.close();
    const file = lastFile(directory);
    flipByte(file, 40);
    for (const _time of ['first', 'second']) {
      const again = await openedJournal({ reserveBytes: 4_096, directory });
      expect(again.recovered).toEqual([{ requestId: idOf(0), start: null, finished: finishedOf(0) }]);
      await again.journal.close();
    }
  });

  test('a record copied to another place does not pass for one', async () => {
    const { directory, journal } = await openedJournal({ reserveBytes: 4_096 });
    journal.begin(idOf(0), startOf(0));
    await journal.close();
    const file = lastFile(directory);
    writeFileSync(file, readFileSync(file).subarray(HEADER_BYTES), { flag: 'a' });
    expect(readJournal(directory)).toMatchObject({ recovered: [{ requestId: idOf(0) }], nextSequence: 1 });
    expect(readJournal(directory).tornBytes).toBeGreaterThan(0);
  });

  test('a segment that is missing between two others is reported', async () => {
    const { directory, journal } = await openedJournal({ reserveBytes: 4_096, segmentBytesMax: 1 });
    for (const index of [0, 1, 2]) journal.begin(idOf(index), startOf(index));
    await journal.close();
    const missing = join(directory, segmentNames(directory)[1] ?? '');
    rmSync(missing);
    const { recovered, damaged } = readJournal(directory);
    expect(damaged).toEqual([{ file: missing, offset: 0, bytes: 0 }]);
    expect(recovered.map((request) => request.requestId)).toEqual([idOf(0), idOf(2)]);
  });
});

describe('files that are not this release’s', () => {
  async function refused(file: string, content: Buffer): Promise<unknown> {
    const { directory, journal } = await openedJournal({ reserveBytes: 4_096 });
    journal.begin(idOf(0), startOf(0));
    await journal.close();
    writeFileSync(join(directory, file), content);
    const before = segmentNames(directory).map((name) => readFileSync(join(directory, name)));
    const error = await openJournal({ reserveBytes: 4_096, directory }).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ message: expect.stringContaining(join(directory, file)) });
    expect(segmentNames(directory).map((name) => readFileSync(join(directory, name)))).toEqual(before);
    return error;
  }

  const header = (version: number, segment: number): Buffer => {
    const bytes = encodeHeader(segment);
    bytes.writeUInt32LE(version, 8);
    bytes.writeUInt32LE(crc32Of(bytes.subarray(0, 16)), 16);
    return bytes;
  };

  test('a newer format is named with its version, and nothing is touched', async () => {
    const error = await refused('0000000002.journal', header(2, 2));
    expect(error).toMatchObject({ kind: 'newer_version', message: expect.stringContaining('version 2') });
  });

  test('a foreign file is named, and nothing is touched', async () => {
    expect(await refused('0000000002.journal', Buffer.from('#!/bin/sh\n'))).toMatchObject({ kind: 'foreign_file' });
    expect(await refused('notes.txt', Buffer.from('hello'))).toMatchObject({ kind: 'foreign_file' });
    expect(await refused('0000000002.journal', header(1, 1))).toMatchObject({ kind: 'foreign_file' });
    expect(await refused('0000000002.journal', header(0, 2))).toMatchObject({ kind: 'foreign_file' });
  });
});

/** Bit by bit, to check the product's sums against something else than themselves. */
function crc32Of(bytes: Uint8Array): number {
  let sum = 0xffff_ffff;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit++) sum = (sum >>> 1) ^ (0xedb8_8320 & -(sum & 1));
  }
  return ~sum >>> 0;
}
