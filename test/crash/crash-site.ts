import { closeSync, mkdirSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { StoredEvent } from '../../ledger/audit/stored-event.ts';
import { HIGH_LIMITS } from '../fixtures/gateway/high-limits.ts';
import { type StartedProcess, startProcess, stopInOrder } from '../fixtures/processes/child-process.ts';
import { GATEWAY_PROGRAM, gatewayCommand, UPSTREAM_PROGRAM } from '../fixtures/processes/gateway-command.ts';
import { readStoredEvents } from './audit/stored-lines.ts';
import { THIN_ACCOUNT } from './crash-accounts.ts';
import { type CrashCatalog, crashCatalog, crashProviders } from './crash-catalog.ts';
import type { CrashStore } from './crash-store.ts';
import type { ClientKey } from './post-planned.ts';
import { RUN_DRAIN_MS } from './run-drain.ts';
import { tryWhileAway } from './try-while-away.ts';

interface GatewayStart {
  /** Another data folder than the site's own. */
  readonly data?: string;
  /** A module that is loaded before the gateway's own. */
  readonly preload?: string;
  readonly environment?: Readonly<Record<string, string>>;
}

/** Everything of a run that is outside the gateway: its folder, its catalog, the upstream, accounts and keys. */
export interface CrashSite {
  readonly data: string;
  /** What its gateways say on stderr. */
  readonly stderrPath: string;
  readonly catalog: CrashCatalog;
  readonly accountIds: readonly string[];
  /** What the upstream saw, one JSON line each. */
  readonly recordPath: string;
  startGateway(how?: GatewayStart): StartedProcess;
  /** Runs a command of the gateway program beside whatever gateway is up, again while the log is away. @throws Error when it fails. */
  command(...args: readonly string[]): Promise<string>;
  /** The account's events as the log holds them, in order. */
  accountEvents(accountId: string): Promise<StoredEvent[]>;
  /** The trouble of the log begins. */
  troubleLog(): void;
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
/** A client that takes no byte for so long counts as having left. */
const CLIENT_STALL_MS = 1_500;
const CLOCK_STEADY_MS = 5_000;
const SECRET_ENV = { CRASH_UPSTREAM_KEY: 'upstream-secret' };

export interface SiteOptions {
  readonly folder: string;
  readonly accountIds: readonly string[];
  /** An upstream that is there already; otherwise one is started as a process of its own. */
  readonly upstreamUrl?: string;
  /** An event store to write to instead of the embedded log. Its trouble begins with `troubleLog`. */
  readonly store?: CrashStore;
}

/** Lays a site out in a folder: starts the upstream, writes configuration and catalog, opens the accounts. */
export async function layOutSite({ folder, accountIds, upstreamUrl: given, store }: SiteOptions): Promise<CrashSite> {
  const data = join(folder, 'data');
  mkdirSync(data, { recursive: true });
  const recordPath = join(folder, 'upstream.jsonl');
  const stderrPath = join(folder, 'stderr.log');
  const stderrFd = openSync(stderrPath, 'a');
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
    return {
      data,
      stderrPath,
      catalog,
      accountIds,
      recordPath,
      startGateway: (how) => startGateway(configPath, stderrFd, how),
      command,
      accountEvents: async (accountId) =>
        (await store?.accountEvents(accountId)) ?? readStoredEvents(await command('ledger', 'events', accountId)),
      troubleLog: () => store?.begin(),
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
  readonly store: CrashStore | undefined;
}

function writeConfiguration({ folder, data, upstreamUrl, catalog, store }: ConfigurationParts): string {
  const catalogPath = join(folder, 'catalog.json');
  writeFileSync(catalogPath, JSON.stringify(catalog.file));
  const configPath = join(folder, 'gateway.json');
  const configuration = {
    listen: { host: '127.0.0.1', port: 0 },
    data,
    catalog: catalogPath,
    // A request to count carries no script, so that this upstream could not say what it will report.
    providers: crashProviders(upstreamUrl, 'CRASH_UPSTREAM_KEY', { countTokens: false }),
    ...(store === undefined ? {} : { eventLog: store.eventLog }),
    rateLimits: HIGH_LIMITS,
    drainMs: RUN_DRAIN_MS,
    clientStallMs: CLIENT_STALL_MS,
    // The scene of a clock that moves does not wait for a whole minute.
    clock: { steadyMs: CLOCK_STEADY_MS },
    logLevel: 'error',
  };
  writeFileSync(configPath, JSON.stringify(configuration));
  return configPath;
}

function startGateway(configPath: string, stderrFd: number, how: GatewayStart = {}): StartedProcess {
  const { data, preload, environment = {} } = how;
  const before = preload === undefined ? [] : ['--import', preload];
  const folder = data === undefined ? [] : ['--data', data];
  return startProcess([...before, GATEWAY_PROGRAM, ...folder, 'serve', '--config', configPath, '--json'], {
    stderrFd,
    environment: { ...SECRET_ENV, ...environment },
  });
}

/**
 * A trial grant that is soon used up, a free grant and a bought one: debits go across their borders. The account that
 * lives from small grants has the first one only.
 */
async function openAccount(command: CrashSite['command'], accountId: string): Promise<void> {
  await command('account', 'open', '--email', 'crash@example.com', '--id', accountId, '--trial-usd', '1');
  if (accountId === THIN_ACCOUNT) return;
  await command('credits', 'grant', accountId, '--usd', '100000', '--source', 'purchase');
  await command('credits', 'grant', accountId, '--usd', '0.5', '--source', 'promotion');
}
