import { beforeAll, describe, expect, it } from 'vitest';
import { NO_STREAM, type StreamName } from '../../../../contracts/ids.ts';
import { openSqliteEventLog } from '../../../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { collect, events, newStream, written } from '../../../fixtures/ledger/shared-log.ts';
import { newPath, openLog, openPlainly } from './log-file.ts';

describe('the file of the embedded log', () => {
  let path: string;
  let stream: StreamName;
  const proposed = events(3);
  const startedMs = Date.now();

  beforeAll(async () => {
    path = newPath();
    stream = newStream();
    const log = await openSqliteEventLog({ path });
    await written(log, stream, NO_STREAM, proposed);
    await log.close();
  });

  it.each([
    ["UPDATE event SET data = '{}' WHERE position = 2", 'events are append-only'],
    ['UPDATE event SET position = 9 WHERE position = 3', 'events are append-only'],
    ['DELETE FROM event WHERE position = 3', 'events are append-only'],
    ['DELETE FROM event', 'events are append-only'],
    ["UPDATE stream SET name = 'other'", 'streams are append-only'],
    ['PRAGMA foreign_keys = OFF; DELETE FROM stream', 'streams are append-only'],
    [
      "INSERT OR REPLACE INTO event SELECT position, stream_id, revision, id, 'X', '{}', '{}', 0 FROM event WHERE position = 3",
      'events are append-only',
    ],
    [
      "INSERT OR REPLACE INTO event SELECT 4, stream_id, revision, id, 'X', '{}', '{}', 0 FROM event WHERE position = 2",
      'events are append-only',
    ],
    ["INSERT INTO event SELECT 5, stream_id, 3, id, 'X', '{}', '{}', 0 FROM event WHERE position = 3", 'not the next'],
    ["INSERT INTO event SELECT 4, stream_id, 4, id, 'X', '{}', '{}', 0 FROM event WHERE position = 3", 'not the next'],
    ["INSERT OR REPLACE INTO stream SELECT id, 'other' FROM stream", 'streams are append-only'],
    ['INSERT OR REPLACE INTO stream SELECT id + 1, name FROM stream', 'streams are append-only'],
  ])('refuses from any connection: %s', async (sql, message) => {
    const database = openPlainly(path);
    const before = database.prepare('SELECT * FROM ledger').all();
    expect(() => database.exec(sql)).toThrow(message);
    expect(database.prepare('SELECT * FROM ledger').all()).toEqual(before);
  });

  it('refuses an id that is no UUID and an event of no stream', () => {
    const database = openPlainly(path);
    expect(() =>
      database.exec("INSERT INTO event SELECT 4, 1, 3, x'01', 'X', '{}', '{}', 0 FROM event WHERE position = 3"),
    ).toThrow('CHECK');
    expect(() =>
      database.exec("INSERT INTO event SELECT 4, 7, 0, id, 'X', '{}', '{}', 0 FROM event WHERE position = 3"),
    ).toThrow('FOREIGN KEY');
  });

  it('reads well with any SQLite tool: names, UUIDs and times as text', async () => {
    const rows = openPlainly(path).prepare('SELECT * FROM ledger ORDER BY position').all();
    expect(rows.map((row) => ({ ...row }))).toEqual(
      proposed.map((event, index) => ({
        ...event,
        position: index + 1,
        stream,
        revision: index,
        recorded_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      })),
    );
    const recordedMs = Date.parse(String(rows[0]?.recorded_at));
    expect(recordedMs).toBeGreaterThanOrEqual(startedMs);
    expect(recordedMs).toBeLessThanOrEqual(Date.now());
    expect(await collect((await openLog(path)).readAll())).toMatchObject(proposed);
  });

  it('is one file after the log is closed, and sound', async () => {
    const database = openPlainly(path);
    expect(database.prepare('PRAGMA integrity_check').all()).toEqual([{ integrity_check: 'ok' }]);
    expect(database.prepare('PRAGMA foreign_key_check').all()).toEqual([]);
  });
});
