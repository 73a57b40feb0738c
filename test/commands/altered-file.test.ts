import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { NOTHING_FOLLOWS } from '../../ledger/event-log/sqlite/schema.ts';
import { openSqliteEventLog } from '../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { editFile } from '../fixtures/ledger/edited-file.ts';
import { runHere } from '../fixtures/processes/run-here.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { readKept } from '../written-before/kept-state.ts';

const { folder } = readKept('76ed563', 'sqlite', 'ledger');

function copied(): string {
  const path = join(temporaryFolder(), 'copy.db');
  copyFileSync(join(folder, 'data', 'ledger.db'), path);
  return path;
}

/** What somebody does who can write to the file, each statement by a connection that has read what the one before has made. */
function alter(path: string, ...statements: readonly string[]): string {
  for (const sql of statements) {
    const database = new DatabaseSync(path, { defensive: false });
    database.exec(`PRAGMA writable_schema = ON; PRAGMA foreign_keys = OFF; ${sql}`);
    const version = Number(database.prepare('PRAGMA schema_version').get()?.schema_version);
    database.exec(`PRAGMA schema_version = ${version + 1}`);
    database.close();
  }
  return path;
}

function edited(sql: string): string {
  const path = copied();
  editFile(path, (database) => database.exec(`PRAGMA foreign_keys = OFF; ${sql}`));
  return path;
}

const DEFINED = { event: 'UNIQUE (stream_id, revision)', stream: 'UNIQUE' };

/** The index of a table with other entries than the table has rows; the schema says nothing of it. */
function withIndex(table: keyof typeof DEFINED, definition: string): string {
  const path = copied();
  const database = new DatabaseSync(path);
  const right = String(database.prepare('SELECT sql FROM sqlite_schema WHERE name = ?').get(table)?.sql);
  database.close();
  const name = `sqlite_autoindex_${table}_1`;
  const without = right.replace(table === 'event' ? `,\n    ${DEFINED.event}` : ` ${DEFINED.stream}`, '');
  const quoted = (sql: string): string => `'${sql.replaceAll("'", "''")}'`;
  return alter(
    path,
    `UPDATE sqlite_schema SET sql = ${quoted(without)} WHERE name = '${table}';
      UPDATE sqlite_schema SET name = 'altered', sql = ${quoted(`CREATE INDEX altered ON ${table}${definition}`)} WHERE name = '${name}'`,
    'REINDEX altered',
    `UPDATE sqlite_schema SET sql = ${quoted(right)} WHERE name = '${table}';
      UPDATE sqlite_schema SET name = '${name}', sql = NULL WHERE name = 'altered'`,
  );
}

const LAST = "(SELECT max(position) FROM event WHERE type = 'CreditsDebited')";
const numbersOf = (sql: string): number[] => {
  const database = new DatabaseSync(copied());
  const numbers = database
    .prepare(sql)
    .all()
    .map(({ position }) => Number(position));
  database.close();
  return numbers;
};
const positionOfLast = (): number | undefined => numbersOf(`SELECT ${LAST} AS position`)[0];
/** Two events of one stream, as branches of a CASE. */
const exchanged = (): string => {
  const [one, two] = numbersOf("SELECT position FROM ledger WHERE stream = 'account-acct_ada' AND revision IN (1, 2)");
  return `WHEN ${one} THEN 2 WHEN ${two} THEN 1`;
};

describe('a file of which no event is altered, and what leads to them is', () => {
  const namesExchanged = (): string =>
    withIndex(
      'stream',
      "((CASE name WHEN 'account-acct_ada' THEN 'account-acct_team' WHEN 'account-acct_team' THEN 'account-acct_ada' ELSE name END))",
    );

  it.each<[what: string, make: () => string, said: string]>([
    [
      'the index lacks an event',
      () => withIndex('event', `(stream_id, revision) WHERE position <> ${positionOfLast()}`),
      'events that are not found by their streams: 1',
    ],
    [
      "the index has events in each other's place",
      () => withIndex('event', `(stream_id, (CASE position ${exchanged()} ELSE revision END))`),
      'events that are not found by their streams: 2',
    ],
    [
      'a stream is not found by its name',
      () => withIndex('stream', "(name) WHERE name <> 'account-acct_ada'"),
      'streams that are not found by their names: 1',
    ],
    ["two streams are found by each other's names", namesExchanged, 'streams that are not found by their names: 2'],
    [
      'a number is beyond what is read exactly',
      () => edited('UPDATE event SET revision = 9007199254740993 WHERE position = 9'),
      'events with a number beyond 2^53 - 1: 1',
    ],
    [
      'a stream has no row',
      () => edited("DELETE FROM stream WHERE name = 'account-acct_team'"),
      'events of no stream: ',
    ],
    [
      'a stream has no event',
      () => edited("INSERT INTO stream VALUES (99, 'account-acct_none')"),
      'streams without an event: 1',
    ],
    [
      'everything is refused, and the ledger has not moved',
      () => alter(copied(), NOTHING_FOLLOWS),
      'has, not as this program makes it, trigger nothing_follows',
    ],
    [
      'the ledger has moved, and nothing is refused',
      () => edited("UPDATE event SET type = 'LedgerMoved' WHERE position = (SELECT max(position) FROM event)"),
      'lacks trigger nothing_follows',
    ],
    [
      'nothing refuses a change',
      () => alter(copied(), 'DROP TRIGGER event_is_never_updated'),
      'lacks trigger event_is_never_updated',
    ],
  ])('%s: verify says so, of all, of an account and of the seals', async (_what, make, said) => {
    const path = make();
    for (const words of [[], ['acct_ada'], ['--seals']]) {
      const { exitCode, stdout, stderr } = await runHere('ledger', 'verify', ...words, '--offline', path);
      expect({ words, exitCode }).toEqual({ words, exitCode: 5 });
      expect(stdout + stderr).toContain(`its file: ${said}`);
    }
  });

  it('a stream that another name leads to is read by nobody', async () => {
    const { exitCode, stderr } = await runHere('ledger', 'replay', 'acct_ada', '--offline', namesExchanged());
    expect(exitCode).not.toBe(0);
    expect(stderr).toContain('its index of names');
  });

  it("an event whose stream has no row is in nobody's books, which are refused", async () => {
    const path = edited("DELETE FROM stream WHERE name = 'account-acct_team'");
    const report = await runHere('ledger', 'report', '--month', '2026-11', '--offline', path, '--json');
    expect(report.exitCode).toBe(5);
  });

  it.each([
    ['take anything', "UPDATE sqlite_schema SET sql = replace(sql, 'STRICT', '') WHERE name = 'event'", 'table event'],
    [
      'are found by an index of somebody else',
      'CREATE INDEX more ON event (stream_id, revision, position) WHERE position > 9',
      'index more',
    ],
  ])('tables that %s are read by nobody', async (_what, sql, named) => {
    const path = alter(copied(), sql);
    for (const words of [['verify'], ['verify', '--seals'], ['replay', 'acct_ada'], ['report', '--month', '2026-11']]) {
      const { exitCode, stderr } = await runHere('ledger', ...words, '--offline', path);
      expect({ words, exitCode }).toEqual({ words, exitCode: 4 });
      expect(stderr).toContain(`its ${named} is not as this program makes it`);
    }
  });

  it('a trigger of somebody else is told, and nothing is appended to such a file', async () => {
    const path = alter(
      copied(),
      "CREATE TRIGGER more AFTER INSERT ON EVENT BEGIN UPDATE event SET data = replace(data, '5', '9') WHERE position = NEW.position; END",
    );
    const { stdout, exitCode } = await runHere('ledger', 'verify', '--offline', path);
    expect(stdout).toMatch(/^\(the log\) -: its file: has, not as this program makes it, trigger more$/m);
    expect(exitCode).toBe(5);
    await expect(openSqliteEventLog({ path, isServedFrom: false })).rejects.toThrow(
      /a trigger more that is not of this program/,
    );
  });
});
