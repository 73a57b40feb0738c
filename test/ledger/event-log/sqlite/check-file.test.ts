import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { basename } from 'node:path';
import { describe, expect, it } from 'vitest';
import { NO_STREAM } from '../../../../contracts/ids.ts';
import { identityForEver, identityOf } from '../../../../ledger/event-log/sqlite/file-identity.ts';
import { RECORD_END, recordWal, walOwnerOf } from '../../../../ledger/event-log/sqlite/wal-record.ts';
import { events, newStream, written } from '../../../fixtures/ledger/shared-log.ts';
import { newPath, openLog, openPlainly } from './log-file.ts';

const COUNTED = /ledger\.db is damaged.* of \d+ events can be read/s;
const LONG_AGO = new Date(0);
const FOREIGN =
  /ledger\.db is not the file that \S+ledger\.db-wal belongs to.*Nothing was changed.*move \S+-wal and \S+-shm away/s;

/** A log as a kill leaves it: what came last is in its -wal alone; and a copy of its file as it was before. */
async function crashed({ lacks = false, isRecorded = true } = {}): Promise<{ path: string; backup: string }> {
  const [lived, path, backup] = [newPath(), newPath(), newPath('backup.db')];
  const first = await openLog(lived);
  await written(first, newStream(), NO_STREAM, events(3));
  await first.close();
  copyFileSync(lived, backup);
  await written(await openLog(lived), newStream(), NO_STREAM, events(3));
  if (lacks) openPlainly(lived).exec('DROP TRIGGER event_is_never_deleted; DELETE FROM event WHERE position = 2');
  for (const end of ['', '-wal']) copyFileSync(lived + end, path + end);
  if (isRecorded) recordWal(path);
  return { path, backup };
}

/** Another file in the place of one, with the same or with other bytes. */
function replace(path: string, by = path): void {
  copyFileSync(by, `${path}.other`);
  renameSync(`${path}.other`, path);
}

const bytesOf = (path: string): Buffer[] =>
  ['', '-wal'].flatMap((end) => (existsSync(path + end) ? [readFileSync(path + end)] : []));

/** Neither a command nor what is served from it may have the file, and neither changes it. */
async function expectRefused(path: string, message: RegExp): Promise<void> {
  const before = bytesOf(path);
  for (const isServedFrom of [false, true])
    await expect(openLog(path, { isServedFrom })).rejects.toMatchObject({
      kind: 'invalid',
      message: expect.stringMatching(message),
    });
  expect(bytesOf(path)).toEqual(before);
}

describe('a -wal that is not empty', () => {
  it('is the file’s own where both are the files of the record: nothing is counted but for what is served from', async () => {
    const { path } = await crashed({ lacks: true });
    await expect(openLog(path, { isServedFrom: true })).rejects.toMatchObject({
      message: expect.stringMatching(COUNTED),
    });
    expect(await (await openLog(path)).headPosition()).toBe(6);
  });

  it('is another file’s where that of the record was replaced: nobody has it, and it is as it was', async () => {
    const { path, backup } = await crashed();
    replace(path, backup);
    await expectRefused(path, FOREIGN);
    for (const end of ['-wal', '-shm']) rmSync(path + end, { force: true });
    expect(await (await openLog(path, { isServedFrom: true })).headPosition()).toBe(3);
  });

  it('is not told by inodes alone, which are used again', async () => {
    const { path } = await crashed();
    const record = path + RECORD_END;
    const text = readFileSync(record, 'utf8');
    const birthOf = (end: string, by: string): string =>
      text.replace(new RegExp(`(ledger\\.db${end} \\d+:\\d+:)\\d+`), by);
    writeFileSync(record, birthOf('', '$11'));
    await expectRefused(path, FOREIGN);
    writeFileSync(record, birthOf('-wal', '$11'));
    expect(walOwnerOf(path)).toBe('unknown');
  });

  it.each<[string, (path: string) => unknown]>([
    ['was replaced itself', (path) => replace(`${path}-wal`)],
    ['was copied with its file', (path) => [path, `${path}-wal`].map((part) => replace(part))],
    [
      'was last written before its file was, which may have another’s bytes',
      (path) => utimesSync(`${path}-wal`, LONG_AGO, LONG_AGO),
    ],
    ['has no record', (path) => rmSync(path + RECORD_END)],
    ['has an empty record', (path) => truncateSync(path + RECORD_END)],
    ['has half a record', (path) => truncateSync(path + RECORD_END, 40)],
  ])('is opened by the count of the events where it %s', async (_what, change) => {
    const lacking = await crashed({ lacks: true });
    change(lacking.path);
    expect(walOwnerOf(lacking.path)).toBe('unknown');
    await expectRefused(lacking.path, COUNTED);
    const whole = await crashed();
    change(whole.path);
    expect(await (await openLog(whole.path)).headPosition()).toBe(6);
  });

  it.each<[string, (path: string) => void]>([
    ['missing', (path) => rmSync(path)],
    ['empty', (path) => truncateSync(path)],
  ])('beside a file that is %s is not made the end of a new one', async (what, change) => {
    for (const isRecorded of [true, false]) {
      const { path } = await crashed({ isRecorded });
      change(path);
      const isThere = existsSync(path);
      await expectRefused(
        path,
        new RegExp(`ledger\\.db is ${what}, and \\S+-wal lies there.*move the -wal and the -shm away`, 's'),
      );
      expect([existsSync(path), existsSync(`${path}-wal`)]).toEqual([isThere, true]);
    }
  });
});

describe('the record', () => {
  it('says of each -wal that is made, whoever makes it, that it is the file’s own: nobody is refused', async () => {
    const path = newPath();
    for (let round = 0; round < 4; round++) {
      const logs = await Promise.all(Array.from({ length: 4 }, () => openLog(path)));
      await written(logs[0] ?? (await openLog(path)), newStream(), NO_STREAM, events(1));
      expect(walOwnerOf(path)).toBe('own');
      expect(
        readFileSync(path + RECORD_END, 'utf8')
          .split('\n')
          .map((line) => line.split(' ')[0]),
      ).toEqual([basename(path), `${basename(path)}-wal`, '']);
      const closing = logs.map((log) => log.close());
      await (await openLog(path)).close();
      await Promise.all(closing);
    }
  });

  it('that cannot be written keeps nobody from the file', async () => {
    const { path } = await crashed({ isRecorded: false });
    // Nothing can be renamed to a folder.
    mkdirSync(path + RECORD_END);
    expect(await (await openLog(path)).headPosition()).toBe(6);
  });
});

it('files are told apart by device and inode, and those of all times by their birth, too', () => {
  const file = { dev: 7n, ino: 8n, birthtimeNs: 9n };
  expect(identityOf({ ...file, dev: 6n })).not.toBe(identityOf(file));
  expect(identityOf({ ...file, ino: 6n })).not.toBe(identityOf(file));
  expect(identityForEver({ ...file, birthtimeNs: 6n })).not.toBe(identityForEver(file));
  expect(identityForEver({ ...file, dev: 6n })).not.toBe(identityForEver(file));
  expect([identityOf({ ...file, ino: 0n }), identityForEver({ ...file, birthtimeNs: 0n })]).toEqual([null, null]);
});
