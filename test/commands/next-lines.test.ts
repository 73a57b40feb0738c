import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runHere } from '../fixtures/processes/run-here.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

/** Which command is typed next: where it is typed as it is said, it comes to the ledger that this one was for. */
it('a command that is said to be next has the --config and the --data of the one that says it', async () => {
  const data = join(temporaryFolder(), "ada's ledger");
  const config = join(temporaryFolder(), 'gateway.json');
  writeFileSync(config, '{}');
  const on = [`--config ${config}`, `--data '${data.replaceAll("'", "'\\''")}'`].join(' ');
  const run = (...args: readonly string[]) => runHere(...args, '--config', config, '--data', data);
  const bought = ['credits', 'purchase', 'acct_ada', '--usd', '20', '--id', 'invoice-1'];

  const opened = await run('account', 'open', '--email', 'ada@example.com', '--id', 'acct_ada');
  expect(opened.stdout).toContain(`\nnext: gateway key issue acct_ada ${on}\n`);
  const publish = `gateway catalog publish FILE ${on}`;
  expect((await run('catalog', 'show')).stdout).toBe(`no catalog is published yet: ${publish}\n`);
  expect((await run('key', 'issue', 'acct_ada', '--models', 'opal-medium')).stderr).toContain(`: ${publish} first\n`);
  const decline = ['payment', 'decline', 'acct_ada', '--reason', 'x'];
  const noneOpen = 'acct_ada: no payment is open (gateway payment list acct_ada';
  expect((await run(...decline)).stderr).toContain(`${noneOpen} ${on})\n`);
  const as = ['--as', 'ada@example.com'];
  expect((await run(...decline, ...as)).stderr).toContain(`${noneOpen} ${as.join(' ')})\n`);
  expect((await run(...bought)).stdout).toContain(
    `\nnext, when it is: gateway payment confirm acct_ada invoice-1 ${on}\n`,
  );
  const backup = join(temporaryFolder(), 'a backup');
  expect((await run('ledger', 'backup', backup)).stdout).toContain(
    `\nnext, where it is needed: gateway ledger restore '${backup}' --data NEW-FOLDER --config ${config}\n`,
  );
  expect((await run('projections', 'park', 'acct_ada', '--reason', 'looked at')).exitCode).toBe(0);
  expect((await run('account', 'show', 'acct_ada')).stdout).toContain(
    `; \`gateway projections unpark acct_ada ${on}\` serves it again`,
  );
  const poor = ['account', 'open', '--email', 'b@example.com', '--id', 'acct_b', '--trial-usd', '0'];
  expect((await run(...poor)).stdout).toContain(`(gateway credits purchase acct_b --usd 20 ${on}, or credits grant)`);
  const reload = ['--threshold-usd', '5', '--target-usd', '20', '--monthly-cap-usd', '100', '--consent'];
  expect((await run('credits', 'auto-reload', 'acct_ada', ...reload)).stdout).toContain(
    `\nnext: gateway payment save-method acct_ada --id "…" --brand "…" --last4 "…" ${on}\n`,
  );
});
