import { createHash } from 'node:crypto';
import { cpSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { beforeAll, describe, expect, it } from 'vitest';
import { openSqliteEventLog } from '../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { startTestGateway } from '../fixtures/gateway/start-gateway.ts';
import { runHere } from '../fixtures/processes/run-here.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const ROWS = 500;
/** How a views' file is damaged, and what is told of it. */
const DAMAGES: readonly (readonly [string, RegExp, (file: string) => void])[] = [
  ['random bytes', /not a database/, (file) => writeFileSync(file, bytes(20_000))],
  ['nothing', /it is empty/, (file) => truncateSync(file, 0)],
  ['its first half', /malformed|page/i, (file) => truncateSync(file, Math.floor(readFileSync(file).length / 2))],
  ['a ruined middle', /malformed|page|row|btree/i, (file) => ruinMiddle(file)],
  ['the tables of another program', /something else|no such table/, (file) => writeOther(file)],
  ['a row of no form', /JSON/, (file) => ruinRow(file)],
];

/** The same at each run, and no text. */
const bytes = (count: number): Buffer =>
  Buffer.concat(
    Array.from({ length: Math.ceil(count / 32) }, (_, at) => createHash('sha256').update(`${at}`).digest()),
  );

function ruinMiddle(file: string): void {
  const content = readFileSync(file);
  bytes(8_192).copy(content, 8_192);
  writeFileSync(file, content);
}

function writeOther(file: string): void {
  rmSync(file);
  const database = new DatabaseSync(file);
  database.exec("PRAGMA user_version = 3; CREATE TABLE recipe (name TEXT); INSERT INTO recipe VALUES ('bread')");
  database.close();
}

function ruinRow(file: string): void {
  const database = new DatabaseSync(file);
  const table = database.prepare("SELECT name FROM sqlite_schema WHERE name LIKE 'balance_v%'").get()?.name;
  database.exec(`UPDATE ${table} SET state = '{'`);
  database.close();
}

describe("a views' file that holds", () => {
  let whole = '';
  let shown = '';
  beforeAll(async () => {
    const gateway = await startTestGateway();
    whole = gateway.data;
    for (let at = 0; at < ROWS; at += 50) await gateway.issueKey({ name: `key ${at}` });
    await gateway.gateway.process.projections.whenWritten();
    await gateway.stop();
    shown = (await runHere('account', 'list', '--data', whole)).stdout;
    expect(shown).toContain('acct');
  });

  function damaged(damage: (file: string) => void): { data: string; file: string } {
    const data = temporaryFolder();
    cpSync(whole, data, { recursive: true });
    const file = join(data, 'views.db');
    const database = new DatabaseSync(file);
    database.exec('PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE');
    database.close();
    damage(file);
    return { data, file };
  }

  it.each(DAMAGES)(
    '%s does not keep a command from its answer, which says so to an operator and leaves the file alone',
    async (_what, says, damage) => {
      const { data, file } = damaged(damage);
      const before = readFileSync(file);
      const { exitCode, stdout, stderr } = await runHere('account', 'list', '--data', data);
      expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: shown });
      // Nothing at all is the beginning of views, too: a command need not tell.
      if (before.length > 0) {
        expect(stderr).toMatch(
          /^warning: \S+views\.db cannot be read as views \(.*\): the ledger is read from its beginning instead\. A gateway that comes upon it sets the file aside, to be made anew at its start\n$/,
        );
        expect(stderr).toMatch(says);
      }
      for (const line of [
        ['account', 'usage', 'acct_test'],
        ['key', 'list', 'acct_test'],
      ]) {
        const toMember = await runHere(...line, '--as', 'test@example.com', '--data', data);
        expect(toMember).toMatchObject({ exitCode: 0, stderr: '' });
      }
      expect(readFileSync(file)).toEqual(before);
      expect(readdirSync(data).filter((name) => name.includes('damaged'))).toEqual([]);
      const written = await runHere('credits', 'grant', 'acct', '--usd', '1', '--data', data);
      expect(written.exitCode, written.stderr).not.toBe(1);
    },
  );

  it.each(DAMAGES)('%s is set aside at the start, which says so, and is made anew', async (_what, says, damage) => {
    const { data, file } = damaged(damage);
    const before = readFileSync(file);
    const logLines: string[] = [];
    const log = await openSqliteEventLog({ path: join(data, 'ledger.db') });
    const gateway = await startTestGateway({ data, log, logLines });
    await gateway.gateway.process.projections.whenWritten();
    await gateway.stop();
    await log.close();
    const told = logLines.map((line) => JSON.parse(line)).filter(({ msg }) => /set aside/.test(msg));
    expect(told).toEqual([
      expect.objectContaining({ level: 50, reason: expect.stringMatching(says), file: `${file}.damaged` }),
    ]);
    // A row is found when it is read, after the file was opened for writing.
    expect(readFileSync(`${file}.damaged`).subarray(100)).toEqual(before.subarray(100));
    const again = await runHere('account', 'list', '--data', data);
    expect(again).toEqual({ exitCode: 0, stdout: shown, stderr: '' });
  });
});
