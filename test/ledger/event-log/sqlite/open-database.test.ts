import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import { NO_STREAM } from '../../../../contracts/ids.ts';
import { checkSqliteVersion, openForAppends } from '../../../../ledger/event-log/sqlite/open-database.ts';
import { endedLater } from '../../../fixtures/ended-later.ts';
import { collect, events, newStream, written } from '../../../fixtures/ledger/shared-log.ts';
import { newPath, openLog, openPlainly } from './log-file.ts';

describe('opening the embedded log', () => {
  it('writes ahead and syncs at each commit', () => {
    const database = endedLater(openForAppends(newPath(), 100));
    const pragma = (name: string): unknown => database.prepare(`PRAGMA ${name}`).get()?.[name];
    expect(pragma('journal_mode')).toBe('wal');
    expect(pragma('synchronous')).toBe(2);
    expect(pragma('foreign_keys')).toBe(1);
  });

  it('makes an empty log, whose positions then begin at 1', async () => {
    const log = await openLog(newPath());
    expect(await log.headPosition()).toBeNull();
    expect(await collect(log.readAll())).toEqual([]);
    expect((await written(log, newStream(), NO_STREAM, events(2))).position).toBe(2);
    expect(await log.headPosition()).toBe(2);
  });

  it('finds what was written before', async () => {
    const path = newPath();
    const first = await openLog(path);
    await written(first, newStream(), NO_STREAM, events(2));
    const before = await collect(first.readAll());
    await first.close();
    expect(readdirSync(dirname(path))).toEqual([basename(path), `${basename(path)}-pair`]);

    const second = await openLog(path);
    expect(await collect(second.readAll())).toEqual(before);
    expect((await written(second, newStream(), NO_STREAM, events(1))).position).toBe(3);
  });

  it('may be done by several at once, of a file that is not there yet', async () => {
    const path = newPath();
    const logs = await Promise.all(Array.from({ length: 6 }, () => openLog(path)));
    await Promise.all(logs.map((log) => written(log, newStream(), NO_STREAM, events(1))));
    for (const log of logs) expect(await log.headPosition()).toBe(6);
  });

  it('refuses the file of another program and leaves it as it was', async () => {
    const path = newPath();
    const database = openPlainly(path);
    database.exec("CREATE TABLE note (text TEXT); INSERT INTO note VALUES ('mine')");
    database.close();
    const before = readFileSync(path);
    await expect(openLog(path)).rejects.toMatchObject({ kind: 'invalid', message: expect.stringContaining(path) });
    expect(readFileSync(path)).toEqual(before);
    expect(readdirSync(dirname(path))).toEqual([basename(path)]);
  });

  it.each([0, 2, 99])('refuses version %i of the file', async (version) => {
    const path = newPath();
    await (await openLog(path)).close();
    const database = openPlainly(path);
    database.exec(`PRAGMA user_version = ${version}`);
    database.close();
    await expect(openLog(path)).rejects.toMatchObject({
      kind: 'invalid',
      message: expect.stringContaining(`version ${version}; this program knows 1`),
    });
  });

  it('refuses what is no database, a missing folder, and a database in memory', async () => {
    const path = newPath();
    writeFileSync(path, 'This is a diary, and no database at all.'.repeat(100));
    await expect(openLog(path)).rejects.toMatchObject({ kind: 'invalid', message: expect.stringContaining(path) });
    await expect(openLog(`${path}/missing/ledger.db`)).rejects.toMatchObject({ kind: 'unavailable' });
    await expect(openLog(':memory:')).rejects.toMatchObject({ kind: 'invalid' });
    expect(existsSync(':memory:')).toBe(false);
  });

  it('is unavailable while another connection keeps the file to itself, for as long as it is told to wait', async () => {
    const path = newPath();
    openPlainly(path).exec('BEGIN EXCLUSIVE');
    await expect(openLog(path, { busyMs: 50 })).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringContaining('locked'),
    });
  });
});

describe('the version of SQLite', () => {
  it.each(['3.51.3', '3.51.4', '3.52.0', '3.60.1', '4.0.0'])('%s will do', (version) => {
    expect(() => checkSqliteVersion(version)).not.toThrow();
  });

  it.each(['3.51.2', '3.50.9', '3.7.17', '2.99.99', '0'])('%s is refused', (version) => {
    expect(() => checkSqliteVersion(version)).toThrow(`SQLite ${version} can corrupt a log; 3.51.3 or later is needed`);
  });
});
