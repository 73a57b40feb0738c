import { copyFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { NO_STREAM } from '../../../../contracts/ids.ts';
import { checkWhole } from '../../../../ledger/event-log/sqlite/check-whole.ts';
import { at, events, newStream, written } from '../../../fixtures/ledger/shared-log.ts';
import { newPath, openLog, openPlainly } from './log-file.ts';

const BUSY_MS = 1_000;
const STREAMS = 60;

async function write(path: string, { close }: { readonly close: boolean }) {
  const log = await openLog(path);
  for (let count = 0; count < STREAMS; count++) await written(log, newStream(), NO_STREAM, events(3));
  if (close) await log.close();
}

it('a file that was made and written to in any way is whole', async () => {
  const path = newPath();
  await (await openLog(path)).close();
  checkWhole(path, BUSY_MS);
  await write(path, { close: true });
  checkWhole(path, BUSY_MS);
  await write(path, { close: false });
  checkWhole(path, BUSY_MS);
});

it('a copy that is put back beside the -wal of the file before is none, and is not changed by the look', async () => {
  const [path, restored] = [newPath(), newPath()];
  await write(path, { close: true });
  copyFileSync(path, restored);
  await write(path, { close: true });
  // As a kill leaves it: what came last is in the -wal alone.
  await write(path, { close: false });
  copyFileSync(`${path}-wal`, `${restored}-wal`);
  for (let looks = 0; looks < 2; looks++)
    expect(() => checkWhole(restored, BUSY_MS)).toThrow(/ledger\.db is damaged.*without the -wal and -shm/s);
});

it('a file that lacks an event is none', async () => {
  const path = newPath();
  await write(path, { close: true });
  openPlainly(path).exec('DROP TRIGGER event_is_never_deleted; DELETE FROM event WHERE position = 7');
  expect(() => checkWhole(path, BUSY_MS)).toThrow(`${3 * STREAMS - 1} of ${3 * STREAMS} events can be read`);
});

it('a file whose events do not begin with the first position is none, also where as many are missing', async () => {
  const path = newPath();
  await write(path, { close: true });
  openPlainly(path).exec(
    'DROP TRIGGER event_is_never_updated; UPDATE event SET position = 0 WHERE position = 1; UPDATE event SET position = 1 WHERE position = 7',
  );
  expect(() => checkWhole(path, BUSY_MS)).toThrow('its first event stands at position 0, and not at 1');
});

it('a mixture whose table has every event and whose index is of before is none', async () => {
  const [path, restored] = [newPath(), newPath()];
  const [first, second] = [newStream(), newStream()];
  let log = await openLog(path);
  // More revisions of each stream than one page of the index takes, the second stream's in pages of their own.
  for (const stream of [first, second]) await written(log, stream, NO_STREAM, events(900));
  await log.close();
  copyFileSync(path, restored);
  log = await openLog(path);
  await written(log, first, at(899), events(1));
  await log.close();
  await written(await openLog(path), second, at(899), events(1));
  copyFileSync(`${path}-wal`, `${restored}-wal`);
  expect(() => checkWhole(restored, BUSY_MS)).toThrow('1802 of 1802 events can be read, 1801 by their streams');
});

it('a mixture whose events are all there, and of one the stream is not, is none', async () => {
  const [path, restored] = [newPath(), newPath()];
  await write(path, { close: true });
  openPlainly(path).exec('PRAGMA wal_checkpoint(TRUNCATE)');
  copyFileSync(path, restored);
  openPlainly(restored).exec(
    'PRAGMA foreign_keys = OFF; DROP TRIGGER stream_is_never_deleted; DELETE FROM stream WHERE id = 7',
  );
  checkWhole(path, BUSY_MS);
  expect(() => checkWhole(restored, BUSY_MS)).toThrow(
    `events are of ${STREAMS} streams, of which ${STREAMS - 1} can be read`,
  );
});
