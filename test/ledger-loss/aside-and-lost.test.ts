import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { runHere } from '../fixtures/processes/run-here.ts';
import { readKept } from '../written-before/kept-state.ts';
import { LedgerSite } from './lost-ledgers.ts';

it('a loss is accepted, and the others are served, though accounts of which something is lost are hidden, or cannot be read', async () => {
  const { folder, computed } = readKept('76ed563', 'eventstoredb', 'whole');
  const site = new LedgerSite('eventstoredb', folder, computed);
  // Put back to the first of two days.
  let catalogs = 0;
  await site.rollBack(({ type }) => type !== 'CatalogPublished' || ++catalogs < 2);
  await site.up();
  onTestFinished(() => site.down());
  site.tombstone('account-acct_ada');
  site.spoil('account-acct_team');

  const command = ['--config', site.configPath, 'ledger', 'accept-loss', '--reason', 'put back'];
  const { exitCode, stdout, stderr } = await runHere(...command);
  expect([exitCode, stderr]).toEqual([0, '']);
  expect(stdout).not.toMatch(/^(?:revoked|suspended) again/m);
  const [hidden, unreadable] = [
    'account-acct_ada was deleted .*',
    'account-acct_team revision \\d+ \\(OrderPlaced\\): .*',
  ];
  for (const line of [
    `to be seen to once acct_ada is not set aside any more \\(${hidden}\\): key key_6d9d36be30c264ec was revoked`,
    `to be seen to once acct_team is not set aside any more \\(${unreadable}\\): the account was suspended \\(`,
    ` *account acct_ada is set aside \\(${hidden}\\): what of it is lost cannot be told$`,
    ` *account acct_team is set aside \\(${unreadable}\\): what of it is lost cannot be told$`,
  ])
    expect(stdout).toMatch(new RegExp(`^${line}`, 'm'));
  // Kept for whoever sees to it, and for the next loss.
  const kept = readFileSync(join(site.data, 'refused.json'), 'utf8');
  for (const id of ['acct_ada', 'acct_team']) expect(kept).toContain(id);
  const { gateway } = await site.start();
  await gateway.whenReady();
});
