import { closeSync, mkdirSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readStoredEvents, type StoredEvent } from './audit/stored-event.ts';
import { type StartedProcess, startProcess, stopInOrder } from './child-process.ts';
import { type CrashCatalog, crashCatalog } from './crash-catalog.ts';
import type { FaultyEventStore } from './faulty-event-store.ts';
import { GATEWAY_PROGRAM, gatewayCommand, UPSTREAM_PROGRAM } from './gateway-command.ts';
import type { ClientKey } from './post-planned.ts';
import { tryWhileAway } from './try-while-away.ts';

/** Everything of a run that is outside the gateway: its folder, its catalog, the upstream, accounts and keys. */
export interface CrashSite {
  readonly data: string;
  readonly catalog: CrashCatalog;
  readonly accountIds: readonly string[];
  /** What the upstream saw, one JSON line each. */
  readonly recordPath: string;
  startGateway(): StartedProcess;
  /** Runs a command of the gateway program beside whatever gateway is up, again while the log is away. @throws Error when it fails. */
  command(...args: readonly string[]): Promise<string>;
  /** The account's events as the log holds them, in order. */
  accountEvents(accountId: string): Promise<StoredEvent[]>;
  /** The log does nothing wrong any more. */
  calmLog(): Promise<void>;
  /** How often each kind of trouble of the log has struck, up to now. */
  readonly struck: Readonly<Record<string, number>>;
  issueKey(accountId: string): Promise<ClientKey>;
  /** Grants a little, as an operator does beside a running gateway: its settlement then meets a conflict. */
  grant(accountId: string, priority: number): Promise<void>;
  close(): Promise<void>;
}

const MODELS = 180;
/** A silent upstream is left so long after its client has left; any other has said its last by then, also on a busy machine. */
const DRAIN_MS = 6_000;
const SECRET_ENV = { CRASH_UPSTREAM_KEY: 'upstream-secret' };

export interface SiteOptions {
  readonly folder: string;
  readonly accountIds: readonly string[];
  /** An upstream that is there already; otherwise one is started as a process of its own. */
  readonly upstreamUrl?: string;
  /** An event store to write to instead of the embedded log. Its trouble begins when the accounts are open. */
  readonly store?: FaultyEventStore;
}

/** Lays a site out in a folder: starts the upstream, writes configuration and catalog, opens the accounts. */
export async function layOutSite({ folder, accountIds, upstreamUrl: given, store }: SiteOptions): Promise<CrashSite> {
  const data = join(folder, 'data');
  mkdirSync(data, { recursive: true });
  const recordPath = join(folder, 'upstream.jsonl');
  const stderrFd = openSync(join(folder, 'stderr.log'), 'a');
  writeFileSync(recordPath, '');
  const upstream =
    given === undefined ? startProcess([UPSTREAM_PROGRAM, '--port', '0', '--record', recordPath], { stderrFd }) : null;
  const close = async (): Promise<void> => {
    if (upstream !== null) await stopInOrder(upstream);
    closeSync(stderrFd);
  };
  try {
    const upstreamUrl = given ?? (await upstream?.firstLine)?.url ?? '';
    const catalog = crashCatalog(MODELS);
    const configPath = writeConfiguration({ folder, data, upstreamUrl, catalog, store });
    const command = (...args: readonly string[]) => tryWhileAway(() => gatewayCommand(configPath, ...args));
    await Promise.all(accountIds.map((accountId) => openAccount(command, accountId)));
    store?.begin();
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
      command,
      accountEvents: async (accountId) =>
        store?.accountEvents(accountId) ?? readStoredEvents(await command('ledger', 'events', accountId)),
      calmLog: async () => store?.calm(),
      get struck() {
        return store?.struck ?? {};
      },
      issueKey: async (accountId) => JSON.parse(await command('key', 'issue', accountId)) as ClientKey,
      grant: async (accountId, priority) => {
        const how = ['--usd', '0.02', '--source', 'promotion', '--priority', String(priority)];
        await command('credits', 'grant', accountId, ...how);
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

interface ConfigurationParts {
  readonly folder: string;
  readonly data: string;
  readonly upstreamUrl: string;
  readonly catalog: CrashCatalog;
  readonly store: FaultyEventStore | undefined;
}

function writeConfiguration({ folder, data, upstreamUrl, catalog, store }: ConfigurationParts): string {
  const catalogPath = join(folder, 'catalog.json');
  writeFileSync(catalogPath, JSON.stringify(catalog.file));
  const configPath = join(folder, 'gateway.json');
  const configuration = {
    listen: { host: '127.0.0.1', port: 0 },
    data,
    catalog: catalogPath,
    providers: { crash: { protocol: 'messages', baseUrl: upstreamUrl, apiKeyEnv: 'CRASH_UPSTREAM_KEY' } },
    ...(store === undefined ? {} : { eventLog: { kind: 'eventstoredb', connectionString: store.connectionString } }),
    drainMs: DRAIN_MS,
    logLevel: 'error',
  };
  writeFileSync(configPath, JSON.stringify(configuration));
  return configPath;
}

/** A trial grant that is soon used up, a free grant and a bought one: debits go across their borders. */
async function openAccount(command: CrashSite['command'], accountId: string): Promise<void> {
  await command('account', 'open', '--email', 'crash@example.com', '--id', accountId, '--trial-usd', '1');
  await command('credits', 'grant', accountId, '--usd', '100000');
  await command('credits', 'grant', accountId, '--usd', '0.5', '--source', 'promotion');
}
