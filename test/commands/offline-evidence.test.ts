import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openOffline } from '../../ledger/event-log/sqlite/open-offline.ts';
import { SCHEMA } from '../../ledger/event-log/sqlite/schema.ts';
import { runHere } from '../fixtures/processes/run-here.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { readKept } from '../written-before/kept-state.ts';

const { folder } = readKept('76ed563', 'sqlite', 'ledger');

/** A copy of a real ledger, alone in a folder. */
function evidence(): string {
  const path = join(temporaryFolder(), 'copy.db');
  copyFileSync(join(folder, 'data', 'ledger.db'), path);
  return path;
}

/** A connection of a program that has it open. */
function openedBeside(path: string): DatabaseSync {
  const database = new DatabaseSync(path);
  onTestFinished(() => {
    if (database.isOpen) database.close();
  });
  database.exec('PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; SELECT count(*) FROM event');
  return database;
}

const APPENDED = `INSERT INTO event SELECT position + 1, stream_id, (SELECT max(revision) + 1 FROM event AS e WHERE e.stream_id =
  event.stream_id), randomblob(16), type, data, metadata, recorded_at FROM event ORDER BY position DESC LIMIT 1`;

const countOf = (path: string): number => {
  const file = openOffline(path);
  const count = file.database.prepare('SELECT count(*) AS n FROM event').get()?.n;
  file.close();
  return Number(count);
};

const COMMANDS = [
  ['verify'],
  ['verify', '--seals'],
  ['replay', 'acct_ada'],
  ['report', '--month', '2026-11', '--json'],
];

it('leaves a file, and what lies beside it, as they were', async () => {
  const path = evidence();
  utimesSync(path, 1, 1);
  for (const words of COMMANDS) {
    expect((await runHere('ledger', ...words, '--offline', path)).exitCode).toBe(0);
    expect(readdirSync(dirname(path))).toEqual([basename(path)]);
  }
  expect(statSync(path).mtimeMs).toBe(1_000);
});

it('reads a file of somebody else in a folder that takes nothing, also with what a connection has left empty', async () => {
  const run = (path: string) => {
    const script = `import { openOffline } from ${JSON.stringify(new URL('../../ledger/event-log/sqlite/open-offline.ts', import.meta.url).href)};
      try { const file = openOffline(${JSON.stringify(path)}); console.log(file.database.prepare('SELECT count(*) AS n FROM event').get().n); file.close(); }
      catch (error) { console.log(error.message); }`;
    const who = process.geteuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
      encoding: 'utf8',
      timeout: 60_000,
      ...who,
    });
    return stdout.trimEnd() || stderr;
  };
  const path = evidence();
  const closed = (mode: number): void => {
    chmodSync(path, mode);
    chmodSync(dirname(path), 0o555);
  };
  onTestFinished(() => chmodSync(dirname(path), 0o755));
  // The folder of the whole test run is its user's alone.
  chmodSync(dirname(dirname(path)), 0o711);
  closed(0o444);
  expect(run(path)).toBe('82');
  chmodSync(dirname(path), 0o755);
  for (const end of ['-wal', '-shm']) writeFileSync(path + end, '', { mode: 0o444 });
  closed(0o444);
  expect(run(path)).toBe('82');
  closed(0o000);
  expect(run(path)).toMatch(
    /copy\.db \(of uid \d+, mode 00\) may not be read by uid \d+, .*: it needs a copy that it may read$/,
  );
});

describe('what is open elsewhere', () => {
  it('is read with what stands in its -wal', () => {
    const path = evidence();
    const other = openedBeside(path);
    expect(countOf(path)).toBe(82);
    other.exec(APPENDED);
    expect(countOf(path)).toBe(83);
  });

  it('is read in order while it is written to', () => {
    const path = evidence();
    const other = openedBeside(path);
    const file = openOffline(path);
    other.exec(APPENDED);
    other.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    expect(file.database.prepare('SELECT count(*) AS n FROM event').get()?.n).toBe(83);
    file.close();
  });

  it('and was not at first is refused in the end: what was read may be a mixture', () => {
    const path = evidence();
    const file = openOffline(path);
    openedBeside(path).exec(APPENDED);
    expect(() => file.close()).toThrow(`${path} was written to while it was read`);
  });
});

it('says of what is no file of a ledger what it is', async () => {
  const home = temporaryFolder();
  const at = (name: string): string => join(home, name);
  mkdirSync(at('folder'));
  spawnSync('mkfifo', [at('pipe')]);
  writeFileSync(at('empty'), '');
  const view = evidence();
  const database = new DatabaseSync(view);
  database.exec(`PRAGMA foreign_keys = OFF; DROP TABLE event; CREATE VIEW event AS WITH RECURSIVE more (position) AS (SELECT 1
    UNION ALL SELECT position + 1 FROM more) SELECT * FROM more`);
  database.close();
  const young = new DatabaseSync(at('young'));
  young.exec(`PRAGMA journal_mode = WAL; ${SCHEMA}`);
  onTestFinished(() => young.close());
  copyFileSync(at('young'), at('alone'));
  for (const [path, words] of [
    [at('alone'), 'is no event log of this program, or a copy without its -wal'],
    [at('none'), `--offline ${at('none')}: does not exist`],
    [at('folder'), 'is a folder, and no file of a ledger'],
    [at('pipe'), 'is no regular file'],
    [at('empty'), 'is no event log of this program'],
    [view, 'is no event log of this program'],
  ] as const)
    for (const command of COMMANDS) {
      const { exitCode, stderr } = await runHere('ledger', ...command, '--offline', path);
      expect(stderr).toMatch(/^gateway: [^\n]*\n$/);
      expect(stderr).toContain(words);
      expect(exitCode).toBe(words.endsWith('does not exist') ? 2 : 4);
    }
});
