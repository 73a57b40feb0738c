import { mkdirSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { catalogEntry } from '../fixtures/catalog-entry.ts';
import { startProcess, stopInOrder } from '../fixtures/processes/child-process.ts';
import { GATEWAY_PROGRAM, gatewayCommand } from '../fixtures/processes/gateway-command.ts';
import { nodeFlagsOf } from '../fixtures/processes/node-flags.ts';
import { freePort } from '../fixtures/processes/processes.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { startUpstream } from '../upstream/upstream.ts';

/** A gateway as a process of its own, with a caller who pays and one who has a key and no credits. */
export interface AttackSite {
  readonly folder: string;
  readonly url: string;
  readonly metricsUrl: string;
  readonly pid: number;
  readonly payingKey: string;
  readonly brokeKey: string;
  close(): Promise<void>;
}

export async function layOutAttackSite(settings: object): Promise<AttackSite> {
  const folder = temporaryFolder();
  mkdirSync(folder, { recursive: true });
  const upstream = await startUpstream();
  const configPath = join(folder, 'gateway.json');
  const catalogPath = join(folder, 'catalog.json');
  writeFileSync(catalogPath, JSON.stringify({ models: [catalogEntry('opal-medium')] }));
  const test = { protocol: 'messages', baseUrl: upstream.url, apiKeyEnv: 'ATTACK_KEY' };
  const metricsPort = await freePort();
  const configuration = {
    metrics: { serve: { port: metricsPort } },
    listen: { port: 0 },
    data: join(folder, 'data'),
    catalog: catalogPath,
    providers: { test },
  };
  writeFileSync(configPath, JSON.stringify({ ...configuration, ...settings }));
  const keyOf = async (id: string, usd: string | null): Promise<string> => {
    await gatewayCommand(configPath, ...`account open --kind personal --email ${id}@example.com --id ${id}`.split(' '));
    if (usd !== null) await gatewayCommand(configPath, 'credits', 'grant', id, '--usd', usd, '--source', 'purchase');
    return String(JSON.parse(await gatewayCommand(configPath, 'key', 'issue', id)).key);
  };
  const stderrFd = openSync(join(folder, 'stderr.log'), 'a');
  const gateway = startProcess(
    [...nodeFlagsOf(GATEWAY_PROGRAM), GATEWAY_PROGRAM, '--config', configPath, '--json', 'serve'],
    {
      stderrFd,
      environment: { ATTACK_KEY: 'upstream-secret' },
    },
  );
  const { url } = await gateway.firstLine;
  return {
    folder,
    url,
    metricsUrl: `http://127.0.0.1:${metricsPort}/metrics`,
    pid: gateway.child.pid ?? 0,
    payingKey: await keyOf('acct_paying', '100000'),
    brokeKey: await keyOf('acct_broke', null),
    close: async () => {
      await stopInOrder(gateway);
      await upstream.close();
    },
  };
}

/** Without a trial nothing is left of an account that was opened. */
export const NO_TRIAL = { trialUsd: '0.00' };
