import { closeSync, mkdirSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type StartedProcess, startProcess, stopInOrder } from './child-process.ts';
import { type CrashCatalog, crashCatalog } from './crash-catalog.ts';
import { GATEWAY_PROGRAM, gatewayCommand, UPSTREAM_PROGRAM } from './gateway-command.ts';
import type { ClientKey } from './post-planned.ts';

/** Everything of a run that is outside the gateway: its folder, its catalog, the upstream, accounts and keys. */
export interface CrashSite {
  readonly data: string;
  readonly catalog: CrashCatalog;
  readonly accountIds: readonly string[];
  /** What the upstream saw, one JSON line each. */
  readonly recordPath: string;
  startGateway(): StartedProcess;
  issueKey(accountId: string): Promise<ClientKey>;
  /** Grants a little, as an operator does beside a running gateway: its settlement then meets a conflict. */
  grant(accountId: string, priority: number): Promise<void>;
  close(): Promise<void>;
}

const MODELS = 180;
/** A silent upstream is left so long after its client has left. */
const DRAIN_MS = 1_500;
const SECRET_ENV = { CRASH_UPSTREAM_KEY: 'upstream-secret' };

/**
 * Lays a site out in a folder: starts the upstream as a process of its own, or takes the one that is given, writes
 * configuration and catalog, opens the accounts.
 */
export async function layOutSite(
  folder: string,
  accountIds: readonly string[],
  givenUpstreamUrl: string | null = null,
): Promise<CrashSite> {
  const data = join(folder, 'data');
  mkdirSync(data, { recursive: true });
  const recordPath = join(folder, 'upstream.jsonl');
  const stderrFd = openSync(join(folder, 'stderr.log'), 'a');
  writeFileSync(recordPath, '');
  const upstream =
    givenUpstreamUrl === null
      ? startProcess([UPSTREAM_PROGRAM, '--port', '0', '--record', recordPath], { stderrFd })
      : null;
  const close = async (): Promise<void> => {
    if (upstream !== null) await stopInOrder(upstream);
    closeSync(stderrFd);
  };
  try {
    const upstreamUrl = givenUpstreamUrl ?? (await upstream?.firstLine)?.url ?? '';
    const catalog = crashCatalog(MODELS);
    const configPath = writeConfiguration(folder, data, upstreamUrl, catalog);
    await Promise.all(accountIds.map((accountId) => openAccount(data, accountId)));
    return {
      data,
      catalog,
      accountIds,
      recordPath,
      startGateway: () =>
        startProcess([GATEWAY_PROGRAM, 'serve', '--config', configPath, '--json'], {
          stderrFd,
          environment: SECRET_ENV,
        }),
      issueKey: async (accountId) => JSON.parse(await gatewayCommand(data, 'key', 'issue', accountId)) as ClientKey,
      grant: async (accountId, priority) => {
        const how = ['--usd', '0.02', '--source', 'promotion', '--priority', String(priority)];
        await gatewayCommand(data, 'credits', 'grant', accountId, ...how);
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

function writeConfiguration(folder: string, data: string, upstreamUrl: string, catalog: CrashCatalog): string {
  const catalogPath = join(folder, 'catalog.json');
  writeFileSync(catalogPath, JSON.stringify(catalog.file));
  const configPath = join(folder, 'gateway.json');
  const configuration = {
    listen: { host: '127.0.0.1', port: 0 },
    data,
    catalog: catalogPath,
    providers: { crash: { protocol: 'messages', baseUrl: upstreamUrl, apiKeyEnv: 'CRASH_UPSTREAM_KEY' } },
    drainMs: DRAIN_MS,
    logLevel: 'error',
  };
  writeFileSync(configPath, JSON.stringify(configuration));
  return configPath;
}

/** A trial grant that is soon used up, a free grant and a bought one: debits go across their borders. */
async function openAccount(data: string, accountId: string): Promise<void> {
  await gatewayCommand(data, 'account', 'open', '--email', 'crash@example.com', '--id', accountId, '--trial-usd', '1');
  await gatewayCommand(data, 'credits', 'grant', accountId, '--usd', '100000');
  await gatewayCommand(data, 'credits', 'grant', accountId, '--usd', '0.5', '--source', 'promotion');
}
