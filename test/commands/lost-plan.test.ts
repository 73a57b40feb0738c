import { copyFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { catalogEntry } from '../fixtures/catalog-entry.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { startTestGateway } from '../fixtures/gateway/start-gateway.ts';
import { runHere } from '../fixtures/processes/run-here.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const TEAM = { id: 'team', label: 'Team', price: '200.00', credits: '260.00' };

it('where a plan is lost, what is listed of plans comes before the gateway, which would renew or end what there is', async () => {
  const folder = temporaryFolder();
  const data = join(folder, 'data');
  const [config, catalog, kept] = ['gateway.json', 'catalog.json', 'kept.db'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  writeFileSync(config, JSON.stringify({ data, listen: { port: 0 }, logLevel: 'silent' }));
  const models = [catalogEntry('opal', { upstreams: [{ provider: 'mock', model: 'opal' }] })];
  writeFileSync(catalog, JSON.stringify({ models, plans: [TEAM] }));
  const run = async (...words: readonly string[]): Promise<string> => {
    const { stdout, exitCode } = await runHere('--config', config, ...words);
    expect(exitCode).toBe(0);
    return stdout;
  };
  await run('catalog', 'publish', catalog);
  await run('account', 'open', '--email', 'ada@example.com', '--id', 'acct_ada', '--trial-usd', '0');
  const ledger = join(data, 'ledger.db');
  copyFileSync(ledger, kept);
  await run('account', 'plan', 'acct_ada', 'team');
  await endedLater(await startTestGateway({ data })).stop();
  for (const end of ['-wal', '-shm']) rmSync(ledger + end, { force: true });
  copyFileSync(kept, ledger);
  const accepted = await run('ledger', 'accept-loss', '--reason', 'a disk');
  expect(accepted).toMatch(
    /\n *plan of acct_ada: .*gateway account plan acct_ada team.*\n *payment renewal_\S+ of acct_ada: /,
  );
  expect(accepted).toMatch(
    /\nnext: what is listed of plans and payments, in its order, and then gateway serve --config \S+\n$/,
  );
});
