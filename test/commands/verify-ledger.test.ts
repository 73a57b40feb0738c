import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
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
