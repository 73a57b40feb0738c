import { mkdirSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { EventLog } from '../../contracts/event-log.ts';
import { type AccountId, accountId, grantId, keyId } from '../../contracts/ids.ts';
import { microUsd } from '../../contracts/money.ts';
import type { AccountCommand } from '../../ledger/account/commands.ts';
import { newKey } from '../../ledger/account/new-key.ts';
import { openEventStoreDbEventLog } from '../../ledger/event-log/eventstoredb/eventstoredb-event-log.ts';
import { runAccountCommand } from '../../proxy/program/accounts/run-account-command.ts';
import type { CommandContext } from '../../proxy/program/command-context.ts';
import { type CrashCatalog, crashCatalog, crashProviders } from '../crash/crash-catalog.ts';
import type { ClientKey } from '../crash/post-planned.ts';
import { RUN_DRAIN_MS } from '../crash/run-drain.ts';
import type { GivenEventStore } from '../eventstoredb/given-event-store.ts';
import { HIGH_LIMITS } from '../fixtures/gateway/high-limits.ts';
import { type StartedProcess, startProcess, stopInOrder } from '../fixtures/processes/child-process.ts';
import { GATEWAY_PROGRAM, UPSTREAM_PROGRAM } from '../fixtures/processes/gateway-command.ts';
import { nodeFlagsOf } from '../fixtures/processes/node-flags.ts';
import { freePort } from '../fixtures/processes/processes.ts';
import { RestartedProcess } from '../soak/restarted-process.ts';
import { type StoreOfRun, startStoreOfRun, type TakenAway } from '../soak/store-of-run.ts';

const MODELS = 200;
const CREDITS = microUsd(100_000_000_000n);

/** The processes of an outage: an upstream with its own record, an event store that is killed, and a gateway. */
export interface OutageSite {
  readonly catalog: CrashCatalog;
  readonly data: string;
  /** What the upstream saw, one JSON line each. */
  readonly recordPath: string;
  readonly metricsUrl: string;
  readonly store: StoreOfRun;
  /** The store's process, or the way to it. */
  readonly taken: TakenAway;
  readonly gateway: RestartedProcess;
  /** Null where there is no Kafka. */
  readonly relay: RestartedProcess | null;
  /** An account with more credits than the run can spend, with so many keys. */
  openAccount(id: string, keys: number): Promise<ClientKey[]>;
  close(): Promise<void>;
}

/** `kafka` of a configuration. */
export interface OutageKafka {
  readonly brokers: readonly string[];
  readonly topic: string;
  readonly partitions: number;
}

export interface OutagePlaces {
  readonly folder: string;
  /** An event store that is there already; null: one is started. */
  readonly given: GivenEventStore | null;
  /** Where a relay publishes to; null: there is none. */
  readonly kafka: OutageKafka | null;
  /** Told the gateway's address whenever it changes. */
  readonly onGateway: (url: string | null) => void;
}

/** Starts upstream and store; the gateway is the caller's to start. @throws Error where the store cannot be taken away */
export async function layOutOutage({ folder, given, kafka, onGateway }: OutagePlaces): Promise<OutageSite> {
  mkdirSync(folder, { recursive: true });
  const stderrFd = openSync(join(folder, 'stderr.log'), 'a');
  const recordPath = join(folder, 'upstream.jsonl');
  writeFileSync(recordPath, '');
  const upstream = startProcess([UPSTREAM_PROGRAM, '--port', '0', '--record', recordPath], { stderrFd });
  const metricsPort = await freePort();
  const store = await startStoreOfRun(folder, stderrFd, given);
  const { taken, eventLog } = store;
  if (taken === null)
    throw new Error('EVENTSTOREDB_URL: an outage leads connections through a path of its own: one host, and tls=false');
  const catalog = crashCatalog(MODELS);
  const { url: upstreamUrl } = await upstream.firstLine;
  const configuration = { folder, catalog, upstreamUrl, eventLog, metricsPort, kafka };
  const configPath = writeConfiguration('gateway', configuration);
  const relayConfigPath = writeConfiguration('relay', configuration);
  return {
    catalog,
    data: join(folder, 'data'),
    recordPath,
    metricsUrl: `http://127.0.0.1:${metricsPort}/metrics`,
    store,
    taken,
    gateway: new RestartedProcess(
      'gateway',
      () => startProgram(stderrFd, 'serve', '--config', configPath),
      (line) => onGateway(line?.url ?? null),
    ),
    relay:
      kafka === null
        ? null
        : new RestartedProcess(
            'relay',
            () => startProgram(stderrFd, 'relay', '--config', relayConfigPath),
            () => undefined,
          ),
    openAccount: async (id, keys) => {
      const log = await openEventStoreDbEventLog(eventLog);
      try {
        return await openAccount(log, accountId(id), keys);
      } finally {
        await log.close();
      }
    },
    close: async () => {
      await store.stop();
      await stopInOrder(upstream);
    },
  };
}

const startProgram = (stderrFd: number, ...command: readonly string[]): StartedProcess =>
  startProcess([...nodeFlagsOf(GATEWAY_PROGRAM), GATEWAY_PROGRAM, ...command, '--json'], {
    stderrFd,
    environment: { OUTAGE_UPSTREAM_KEY: 'upstream-secret' },
  });

interface ConfigurationParts {
  readonly folder: string;
  readonly catalog: CrashCatalog;
  readonly upstreamUrl: string;
  readonly eventLog: StoreOfRun['eventLog'];
  readonly metricsPort: number;
  readonly kafka: OutageKafka | null;
}

/** Of a program with a data folder of its own; the gateway's is `data`. */
function writeConfiguration(program: 'gateway' | 'relay', parts: ConfigurationParts): string {
  const { folder, catalog, upstreamUrl, eventLog, metricsPort, kafka } = parts;
  const catalogPath = join(folder, 'catalog.json');
  writeFileSync(catalogPath, JSON.stringify(catalog.file));
  const configPath = join(folder, `${program}.json`);
  const configuration = {
    listen: { host: '127.0.0.1', port: 0 },
    data: join(folder, program === 'gateway' ? 'data' : 'relay-data'),
    catalog: catalogPath,
    eventLog,
    ...(kafka === null ? {} : { kafka }),
    metrics: { serve: { port: metricsPort } },
    // A request to count carries no script, so that this upstream could not say what it will report.
    providers: crashProviders(upstreamUrl, 'OUTAGE_UPSTREAM_KEY', { countTokens: false }),
    rateLimits: HIGH_LIMITS,
    drainMs: RUN_DRAIN_MS,
    logLevel: 'info',
  };
  writeFileSync(configPath, JSON.stringify(configuration));
  return configPath;
}

/** With the commands of the command line, but over one connection: there are many keys. */
async function openAccount(log: EventLog, id: AccountId, keys: number): Promise<ClientKey[]> {
  const context: CommandContext = {
    openEventLog: async () => log,
    proveLedger: async () => ({ isWhole: true, error: null }),
    compareClock: async () => null,
    environment: {},
    user: 'operator',
    clock: Date.now,
    write: () => undefined,
    warn: () => undefined,
  };
  const run = (command: AccountCommand) => runAccountCommand(context, log, id, command);
  const nowMs = Date.now();
  await run({
    type: 'OpenAccount',
    accountId: id,
    kind: 'personal',
    email: 'outage@example.com',
    trial: microUsd(0n),
    trialGrantId: grantId('grant_trial'),
    nowMs,
  });
  await run({
    type: 'GrantCredits',
    grantId: grantId('grant_first'),
    source: 'purchase',
    amount: CREDITS,
    costBasis: CREDITS,
    priority: 100,
    effectiveAtMs: nowMs,
    expiresAtMs: null,
  });
  const issued: ClientKey[] = [];
  while (issued.length < keys) issued.push(await issueKey(run, id, nowMs));
  return issued;
}

async function issueKey(run: (command: AccountCommand) => Promise<unknown>, id: AccountId, nowMs: number) {
  const { secret, keyId: issued, sha256, last4 } = newKey();
  await run({
    type: 'IssueKey',
    keyId: keyId(issued),
    name: 'outage',
    sha256,
    last4,
    issuer: 'outage',
    expiresAtMs: null,
    models: null,
    monthlyLimit: null,
    nowMs,
  });
  return { accountId: id, keyId: issued, key: secret };
}

/** What a metric without labels says; null where it is not there. */
export async function readMetric(metricsUrl: string, name: string): Promise<number | null> {
  const text = await (await fetch(metricsUrl)).text();
  const line = text.split('\n').find((one) => one.startsWith(`${name} `));
  return line === undefined ? null : Number(line.slice(name.length + 1));
}
