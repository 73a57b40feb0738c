import { spawnSync } from 'node:child_process';
import { readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { EventLogError } from '../../contracts/event-log.ts';
import { readKept } from '../written-before/kept-state.ts';
import { LedgerSite } from './lost-ledgers.ts';

const PAGE = 4_096;
const PROGRAM = fileURLToPath(new URL('../../proxy/main.mjs', import.meta.url));

/** A folder with views and a journal, its ledger in one file. */
async function siteWithOneFile(): Promise<LedgerSite> {
  const { folder, computed } = readKept('76ed563', 'sqlite', 'whole');
  const site = new LedgerSite('sqlite', folder, computed);
  await site.up();
  onTestFinished(() => site.down());
  const database = new DatabaseSync(site.ledgerFile);
  database.exec('PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE');
  database.close();
  return site;
}

describe('a ledger file', () => {
  it('of no bytes is refused: nothing of what is known is there', async () => {
    const site = await siteWithOneFile();
    truncateSync(site.ledgerFile, 0);
    await expect(site.start()).rejects.toThrow(/lacks events that it had.*account-acct_ada: .*nothing of it is there/s);
  });

  it.each<[string, (bytes: Buffer) => Buffer]>([
    ['with something else in it', () => Buffer.alloc(2 * PAGE, 'something else')],
    ['that was cut in half', (bytes) => bytes.subarray(0, bytes.length / 2)],
    ['whose pages were overwritten behind the first two', (bytes) => bytes.fill(0xa5, 2 * PAGE)],
  ])('%s is refused, and says what it is and what to do', async (_what, damage) => {
    const site = await siteWithOneFile();
    writeFileSync(site.ledgerFile, damage(readFileSync(site.ledgerFile)));
    const refused = await site.start().then(
      () => null,
      (error: unknown) => error,
    );
    expect(refused).toBeInstanceOf(EventLogError);
    // No outage: a log that is away is waited for, and this one will not come back.
    expect(refused).toMatchObject({ kind: 'invalid', canRetry: false });
    expect(String(refused)).toMatch(
      /ledger\.db is damaged, or no file of a ledger \(.*\)\. Put back a whole copy of it/,
    );
  });

  it('that lacks an event is not served from, though nothing lies beside it; a command looks at little of it', async () => {
    const site = await siteWithOneFile();
    const database = new DatabaseSync(site.ledgerFile);
    database.exec('DROP TRIGGER event_is_never_deleted; DELETE FROM event WHERE position = 7');
    database.close();
    const program = (...args: string[]) =>
      spawnSync(process.execPath, [PROGRAM, '--data', site.data, ...args], { encoding: 'utf8' });
    expect(program('serve', '--port', '0')).toMatchObject({
      status: 4,
      stderr: expect.stringMatching(/^gateway: \S*ledger\.db is damaged.* of \d+ events can be read.*\n$/m),
    });
    expect(program('account', 'show', 'acct_ada')).toMatchObject({ status: 0 });
  });
});
