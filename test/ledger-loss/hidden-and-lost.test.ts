import { expect, it, onTestFinished } from 'vitest';
import { runHere } from '../commands/run-here.ts';
import { readKept } from '../written-before/kept-state.ts';
import { LedgerSite } from './lost-ledgers.ts';

it('a loss is accepted, and the others are served, though the log hides accounts of which something is lost', async () => {
  const { folder, computed } = readKept('76ed563', 'eventstoredb', 'whole');
  const site = new LedgerSite('eventstoredb', folder, computed);
  // Put back to the first of two days.
  let catalogs = 0;
  await site.rollBack(({ type }) => type !== 'CatalogPublished' || ++catalogs < 2);
  await site.up();
  onTestFinished(() => site.down());
  for (const id of ['acct_ada', 'acct_team']) site.tombstone(`account-${id}`);

  const command = ['--config', site.configPath, 'ledger', 'accept-loss', '--reason', 'put back'];
  const { exitCode, stdout, stderr } = await runHere(...command);
  expect([exitCode, stderr]).toEqual([0, '']);
  expect(stdout).not.toMatch(/^(?:revoked|suspended) again/m);
  const when = 'to be seen to when the log shows the events of';
  for (const line of [
    `${when} acct_ada again: key key_6d9d36be30c264ec was revoked\n`,
    `${when} acct_team again: the account was suspended (`,
    'account acct_ada: the log hides its events, so what of it is lost cannot be told\n',
  ])
    expect(stdout).toContain(line);
  const { gateway } = await site.start();
  await gateway.whenReady();
});
