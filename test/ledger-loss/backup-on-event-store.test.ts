import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { viewRows } from '../crash/view-rows.ts';
import { runHere, runHereForJson } from '../fixtures/processes/run-here.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { readKept } from '../written-before/kept-state.ts';
import { LedgerSite } from './lost-ledgers.ts';

it('of a ledger that an event store keeps the data folder is backed up, with its views, and the server’s own backup asked for', async () => {
  const { folder, computed } = readKept('76ed563', 'eventstoredb', 'whole');
  const site = new LedgerSite('eventstoredb', folder, computed);
  await site.up();
  onTestFinished(() => site.down());
  const to = join(temporaryFolder(), 'backup');
  // What the views hold is in their file once a gateway has ended.
  await (await site.serve()).stop();
  const life = await site.serve();
  const said = await runHere('--config', site.configPath, 'ledger', 'backup', to);
  expect(said).toMatchObject({ exitCode: 0, stdout: expect.stringContaining("Take the server's own backup now") });
  await life.stop();
  expect(readdirSync(to)).toEqual(expect.arrayContaining(['journal', 'ledger-id', 'manifest.json', 'views.db']));
  expect(existsSync(join(to, 'ledger.db'))).toBe(false);

  // Nothing is made in it, for a ledger that is elsewhere, either.
  const names = readdirSync(to, { recursive: true }).sort();
  const inPlace = ['--config', site.configPath, '--data', to];
  for (const command of ['account list', 'credits grant acct_ada --usd 1'])
    expect(await runHere(...inPlace, ...command.split(' '))).toMatchObject({
      ...{
        exitCode: 3,
        stderr: expect.stringMatching(/ledger restore \S+ --data FOLDER` makes a data folder of it\n$/),
      },
    });
  expect(readdirSync(to, { recursive: true }).sort()).toEqual(names);

  const data = join(temporaryFolder(), 'data');
  const restored = await runHereForJson('--config', site.configPath, '--data', data, 'ledger', 'restore', to);
  expect(restored).toMatchObject({ isServed: true, lost: [], ledger: { generation: 1 } });
  const [rows, own] = [viewRows(data, { remove: false }), viewRows(site.data, { remove: false })];
  expect(rows.length).toBeGreaterThan(0);
  expect(rows).toEqual(own);

  // An embedded ledger does not become one of a server by being restored.
  const embedded = join(temporaryFolder(), 'gateway.json');
  writeFileSync(embedded, JSON.stringify({ data: join(temporaryFolder(), 'other') }));
  const refused = await runHere('--config', embedded, 'ledger', 'restore', to);
  expect(refused).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('is of a ledger in eventstoredb') });
});
