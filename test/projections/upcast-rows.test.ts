import { once } from 'node:events';
import { readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import { freeBytesAt } from '../../ledger/room-on-disk.ts';
import { VIEW_LIMITS } from '../../projections/limits.ts';
import { KeptRoomError } from '../../projections/room-to-keep.ts';
import { upcastViews } from '../../projections/upcast-views.ts';
import type { StoredView, ViewTable } from '../../projections/view.ts';
import { canMount, smallDisk } from '../fixtures/ledger/small-disk.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

/** As commands do, but without a pause between two. */
const LOOKS_ON_AND_ON = `
  const { parentPort, workerData } = require('node:worker_threads');
  const { DatabaseSync } = require('node:sqlite');
  parentPort.postMessage('looks');
  for (;;) {
    try {
      const database = new DatabaseSync(workerData, { readOnly: true });
      try { database.prepare('SELECT count(*) FROM sqlite_schema').get(); } finally { database.close(); }
    } catch {} // Not there yet.
  }`;

describe('a view that was upcast once', () => {
  const tableOf = (version: number): ViewTable => ({
    ...{ name: `small_v${version}`, columns: { id: 'TEXT', text: 'TEXT' }, keyColumns: 1 },
  });
  /** Each version adds its number to a text. */
  const viewOf = (version: number): StoredView => ({
    ...{ name: 'small', version, tables: [tableOf(version)] },
    olderTables: (from) => [
      {
        from: tableOf(from),
        to: tableOf(version),
        upcast: ([id = '', text]) => [{ table: tableOf(version), values: [id, `${text} ${version}`] }],
      },
    ],
    *takeChanges() {},
    restore: () => undefined,
    clear: () => undefined,
  });

  function writeSmall(path: string, more = 0): void {
    const database = new DatabaseSync(path);
    database.exec(`PRAGMA user_version = 3; CREATE TABLE stored_view (name TEXT, version INTEGER);
      CREATE TABLE checkpoint (one INTEGER, feed TEXT, checkpoint TEXT); CREATE TABLE written (one INTEGER, writes INTEGER);
      CREATE TABLE stamped (name TEXT, total INTEGER); CREATE TABLE known_current (one INTEGER, at_ms INTEGER);
      CREATE TABLE small_v1 (id TEXT PRIMARY KEY, text TEXT, stamp INTEGER);
      INSERT INTO stored_view VALUES ('small', 1); INSERT INTO checkpoint VALUES (1, 'log', '{"position":1,"stream":"a","revision":0,"id":"x"}');
      INSERT INTO written VALUES (1, 4); INSERT INTO small_v1 VALUES ('a', '1', 4);
      WITH RECURSIVE more(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM more LIMIT ${more})
        INSERT INTO small_v1 SELECT printf('b%06d', n), printf('%.800c', 'x'), 4 FROM more WHERE ${more} > 0;
      INSERT INTO stamped SELECT 'small_v1', sum(stamp) FROM small_v1`);
    database.close();
  }

  it.runIf(canMount)('takes the room of its rows once, with nothing left beside the file', () => {
    const one = join(temporaryFolder(), 'one');
    writeSmall(one, 12_000);
    const rowsBytes = statSync(one).size;
    const disk = smallDisk(Math.ceil((rowsBytes * 1.2 + VIEW_LIMITS.roomAheadBytes) / 1_024));
    const two = join(dirname(disk.folder), 'two');
    expect(upcastViews({ from: one, to: two, keepFreeBytes: 0 }, [viewOf(2)])).toEqual(new Map([['small', 1]]));
    expect(readdirSync(dirname(two))).toEqual(['two']);
    expect(statSync(two).size).toBeGreaterThan(9_000_000);
  });

  it.runIf(canMount)('leaves the room that is kept, on its way and at its end', () => {
    const one = join(temporaryFolder(), 'one');
    writeSmall(one, 12_000);
    const disk = smallDisk(Math.ceil((statSync(one).size * 0.7) / 1_024));
    const two = join(dirname(disk.folder), 'two');
    // SQLite copies it by itself, where no row of it changes.
    const copied: StoredView = { ...viewOf(2), olderTables: (from) => [{ from: tableOf(from), to: tableOf(2) }] };
    for (const view of [viewOf(2), copied])
      expect(() => upcastViews({ from: one, to: two, keepFreeBytes: 0 }, [view])).toThrow(KeptRoomError);
    const small = join(temporaryFolder(), 'small');
    writeSmall(small);
    const tooMuch = { from: small, to: two, keepFreeBytes: freeBytesAt(dirname(two)) };
    expect(() => upcastViews(tooMuch, [viewOf(2)])).toThrow(KeptRoomError);
  });

  it('waits for whoever looks at what is made, at each of its steps', async () => {
    const folder = temporaryFolder();
    const [one, two] = [join(folder, 'one'), join(folder, 'two')];
    writeSmall(one);
    const looks = new Worker(LOOKS_ON_AND_ON, { eval: true, workerData: two });
    try {
      await once(looks, 'message');
      for (let time = 0; time < 100; time++)
        expect(upcastViews({ from: one, to: two, keepFreeBytes: 0 }, [viewOf(2)])).toEqual(new Map([['small', 1]]));
    } finally {
      await looks.terminate();
    }
  });

  it('is upcast again, and still says of which version its rows were', () => {
    const [one, two, three] = ['one', 'two', 'three'].map((name) => join(temporaryFolder(), name)) as [
      string,
      string,
      string,
    ];
    writeSmall(one);
    expect(upcastViews({ from: one, to: two, keepFreeBytes: 0 }, [viewOf(2)])).toEqual(new Map([['small', 1]]));
    expect(upcastViews({ from: two, to: three, keepFreeBytes: 0 }, [viewOf(3)])).toEqual(new Map([['small', 1]]));
    const made = new DatabaseSync(three, { readOnly: true });
    expect(made.prepare('SELECT * FROM small_v3').all()).toEqual([{ id: 'a', text: '1 2 3', stamp: 4 }]);
    made.close();
  });
});
