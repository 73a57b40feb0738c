import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { BalanceView } from '../../projections/balance-view.ts';
import { Projections } from '../../projections/projections.ts';
import { startFakeEventStore } from '../eventstoredb/fake-event-store.ts';
import { StoredLog } from '../eventstoredb/stored-log.ts';
import { runHere } from '../fixtures/processes/run-here.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { putBack, readKept } from '../written-before/kept-state.ts';

const keptFolder = (): string => join(readKept('76ed563', 'sqlite', 'ledger').folder, 'data');

/** What somebody does who can write to the file. */
function edit(folder: string, sql: string): string {
  const path = join(folder, 'ledger.db');
  const database = new DatabaseSync(path);
  database.exec('DROP TRIGGER event_is_never_updated; DROP TRIGGER event_is_never_deleted');
  database.exec(sql);
  database.close();
  return path;
}

it('finds nothing wrong with a real ledger, whole or by its accounts', async () => {
  const { data } = await putBack('76ed563', 'sqlite', 'ledger');
  const all = await runHere('ledger', 'verify', '--all', '--data', data);
  expect(all).toMatchObject({ exitCode: 0, stdout: '82 events of 3 accounts: no fault\n' });
  const some = await runHere('ledger', 'verify', 'acct_ada', 'acct_team', '--data', data);
  expect(some).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^\d+ events of 2 accounts: no fault\n$/) });
});

it('tells of a grant that was edited in the file with its place and both values, and ends with 5', async () => {
  const path = edit(
    keptFolder(),
    `UPDATE event SET data = json_set(data, '$.amount', '9000000') WHERE type = 'CreditsGranted' AND revision = 1`,
  );
  const { stdout, stderr, exitCode } = await runHere('ledger', 'verify', '--offline', path);
  expect(stdout).toMatch(/^account-acct_ada 12: req_\w+: balance after is \d+, should be \d+$/m);
  expect(stderr).toMatch(/^gateway: faults found: \d+\n$/);
  expect(exitCode).toBe(5);
  const asJson = await runHere('--json', 'ledger', 'verify', '--offline', path);
  const lines = asJson.stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines.at(-1)).toMatchObject({ summary: { events: 82, accounts: 3, faults: lines.length - 1 } });
  expect(lines).toContainEqual({
    fault: {
      stream: 'account-acct_ada',
      revision: 12,
      what: expect.stringMatching(/balance after$/),
      found: expect.stringMatching(/^\d+$/),
      expected: expect.stringMatching(/^\d+$/),
    },
  });
});

it('tells where the last event of a stream is gone', async () => {
  const path = edit(keptFolder(), 'DELETE FROM event WHERE position = 40');
  const { stdout } = await runHere('ledger', 'verify', '--offline', path);
  expect(stdout).toContain('(the log) -: no event is at positions: 40 to 40\n');
});

it('refuses what is no ledger, an account that there is not, and two ways at once', async () => {
  const nowhere = join(temporaryFolder(), 'ledger.db');
  expect(await runHere('ledger', 'verify', '--offline', nowhere)).toMatchObject({ exitCode: 4 });
  const { data } = await putBack('76ed563', 'sqlite', 'ledger');
  expect(await runHere('ledger', 'verify', 'acct_nobody', '--data', data)).toMatchObject({ exitCode: 3 });
  expect(await runHere('ledger', 'verify', 'acct_ada', '--all', '--data', data)).toMatchObject({ exitCode: 2 });
  expect(await runHere('ledger', 'verify', '--data', data)).toMatchObject({ exitCode: 2 });
});

it('compares the views, at the revision that they have come to', async () => {
  const { data, log } = await putBack('76ed563', 'sqlite', 'ledger');
  const views = join(data, 'views.db');
  const projections = await Projections.start({ log, path: views, persist: true });
  await projections.whenCaughtUp();
  await projections.close();
  expect(await runHere('ledger', 'verify', '--all', '--data', data)).toMatchObject({ exitCode: 0 });
  const database = new DatabaseSync(views);
  const [{ name } = { name: '' }] = new BalanceView().tables;
  database.exec(`UPDATE ${name} SET balance_micro_usd = '1' WHERE account_id = 'acct_ada'`);
  database.close();
  const fault = /^account-acct_ada 64: the views' balance is 1, should be \d+$/m;
  for (const which of ['--all', 'acct_ada']) {
    const { stdout, exitCode } = await runHere('ledger', 'verify', which, '--data', data);
    expect(stdout).toMatch(fault);
    expect(exitCode).toBe(5);
  }
});

it('finds the same in an event store, where an event was edited', async () => {
  const { folder } = readKept('76ed563', 'eventstoredb', 'ledger');
  const file = join(folder, 'events.ndjson');
  const verified = async () => {
    const store = await startFakeEventStore({ log: new StoredLog({ file, now: Date.now }) });
    const configuration = join(folder, 'gateway.json');
    const eventLog = { kind: 'eventstoredb', connectionString: store.connectionString };
    writeFileSync(configuration, JSON.stringify({ data: join(folder, 'data'), eventLog }));
    const run = await runHere('--config', configuration, 'ledger', 'verify', '--all');
    await store.stop();
    store.log.close();
    return run;
  };
  expect(await verified()).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/ of 3 accounts: no fault\n$/) });
  const text = readFileSync(file, 'utf8');
  // What is stored is in base64 there.
  const edited = text.replace(/"([A-Za-z0-9+/=]{200,})"/g, (stored, base64) => {
    const data = Buffer.from(base64, 'base64').toString();
    if (!data.includes('"balanceAfter"')) return stored;
    return `"${Buffer.from(data.replace(/"balanceAfter":"\d+"/, '"balanceAfter":"1"')).toString('base64')}"`;
  });
  expect(edited).not.toBe(text);
  writeFileSync(file, edited);
  const { exitCode, stdout } = await verified();
  expect(stdout).toMatch(/: balance after is 1, should be \d+$/m);
  expect(exitCode).toBe(5);
});
