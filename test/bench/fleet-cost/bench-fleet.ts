import { randomBytes, randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { EventLog } from '../../../contracts/event-log.ts';
import { type AccountId, accountId, commandId, grantId, keyId, uuidV7 } from '../../../contracts/ids.ts';
import { microUsd } from '../../../contracts/money.ts';
import type { AccountCommand } from '../../../ledger/account/commands.ts';
import { executeCommand } from '../../../ledger/account/execute-command.ts';
import { newKey } from '../../../ledger/account/new-key.ts';
import { openEventStoreDbEventLog } from '../../../ledger/event-log/eventstoredb/eventstoredb-event-log.ts';
import { openSqliteEventLog } from '../../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { OPERATOR } from '../../fixtures/ledger/actors.ts';
import { GATEWAY_PROGRAM, gatewayCommand } from '../../fixtures/processes/gateway-command.ts';
import { nodeFlagsOf } from '../../fixtures/processes/node-flags.ts';
import { freePort, type Processes } from '../../fixtures/processes/processes.ts';
import { configurationOf, modelOf } from '../contenders/ours.ts';
import { eventStore } from '../event-store.ts';
import { MODELS } from '../fast-upstream/answers.ts';
import { FLEETS, type FleetName } from './fleet-cost-figures.ts';

const ACCOUNTS = 200;
const READY_MS_MAX = 60_000;
/** More than any run can spend. */
const CREDIT = microUsd(1_000_000_000_000n);

/** Gateways on one log. */
export interface BenchFleet {
  readonly name: FleetName;
  readonly ports: readonly number[];
  readonly pids: readonly number[];
  /** None for SQLite, and for a server that was given. */
  readonly storePids: readonly number[];
  readonly processNames: readonly string[];
  /** One of each account. */
  readonly keys: readonly string[];
}

/** Starts the proxies of a fleet, each on a data folder of its own, with accounts that pay. */
export async function startFleet(processes: Processes, name: FleetName, upstreamPort: number): Promise<BenchFleet> {
  const { log, proxies } = FLEETS[name];
  const base = `cost-${Object.keys(FLEETS).indexOf(name)}`;
  const store = log === 'sqlite' ? null : await eventStore(processes, `${base}-store`);
  const streamPrefix = `bench_${randomUUID().replaceAll('-', '_')}-`;
  const eventLog =
    store === null ? {} : { eventLog: { kind: log, connectionString: store.connectionString, streamPrefix } };
  const catalog = join(processes.folder, `${base}-catalog.json`);
  writeFileSync(catalog, JSON.stringify({ models: Object.values(MODELS).map(modelOf) }));
  const places = await Promise.all(
    Array.from({ length: proxies }, async (_, index) => {
      const data = join(processes.folder, `${base}-${index}`);
      mkdirSync(data);
      const port = await freePort();
      const configPath = `${data}.json`;
      const configuration = configurationOf(data, catalog, upstreamPort);
      writeFileSync(configPath, JSON.stringify({ ...configuration, ...eventLog, listen: { port } }));
      return { name: `${base}-${index}`, data, port, configPath };
    }),
  );
  const [first] = places;
  if (first === undefined) throw new Error('a fleet has at least one proxy');
  // The ledger's birth is the program's own.
  await gatewayCommand(first.configPath, 'account', 'open', '--email', 'bench@example.com', '--id', 'acct_first');
  const opened =
    store === null
      ? await openSqliteEventLog({ path: join(first.data, 'ledger.db') })
      : await openEventStoreDbEventLog({ connectionString: store.connectionString, streamPrefix });
  const keys = await openAccounts(opened).finally(() => opened.close());
  const environment = { BENCH_KEY: 'bench', NODE_ENV: 'production' };
  const command = (configPath: string) => [
    ...[process.execPath, ...nodeFlagsOf(GATEWAY_PROGRAM), GATEWAY_PROGRAM],
    ...['serve', '--config', configPath],
  ];
  const children = places.map((place) => processes.spawn(place.name, command(place.configPath), { environment }));
  for (const { name: proxy, port } of places) {
    await processes.untilListening(proxy, port);
    await untilReady(processes, proxy, port);
  }
  return {
    name,
    ports: places.map(({ port }) => port),
    pids: children.map(({ pid }) => pid ?? 0),
    storePids: store?.pid == null ? [] : [store.pid],
    processNames: [...places.map((place) => place.name), ...(store?.pid == null ? [] : [`${base}-store`])],
    keys,
  };
}

/** A proxy that listens may not have read the log yet. @throws Error with the end of its log when it does not get ready */
async function untilReady(processes: Processes, name: string, port: number): Promise<void> {
  const endMs = Date.now() + READY_MS_MAX;
  for (;;) {
    const isReady = await fetch(`http://127.0.0.1:${port}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isReady) return;
    if (Date.now() > endMs) throw new Error(`${name} is not ready:\n${processes.logTail(name)}`);
    await setTimeout(100);
  }
}

const openAccounts = (log: EventLog): Promise<string[]> =>
  Promise.all(Array.from({ length: ACCOUNTS }, (_, index) => openAccount(log, accountId(`acct_cost${index}`))));

/** With credits that were bought; its key. */
async function openAccount(log: EventLog, id: AccountId): Promise<string> {
  const nowMs = Date.now();
  const { secret, keyId: ofKey, sha256, last4 } = newKey();
  const run = (command: AccountCommand) => execute(log, id, command);
  await run({
    ...{ type: 'OpenAccount', accountId: id, kind: 'organization', email: 'bench@example.com', nowMs },
    ...{ trial: microUsd(0n), trialGrantId: grantId(`${id}-trial`) },
  });
  await run({
    ...{ type: 'GrantCredits', grantId: grantId(`${id}-credit`), source: 'purchase', amount: CREDIT, priority: 100 },
    ...{ costBasis: CREDIT, effectiveAtMs: nowMs, expiresAtMs: null },
  });
  await run({
    ...{ type: 'IssueKey', keyId: keyId(ofKey), name: 'bench', sha256, last4, issuer: 'bench', nowMs },
    ...{ expiresAtMs: null, models: null, monthlyLimit: null },
  });
  return secret;
}

async function execute(log: EventLog, id: AccountId, command: AccountCommand): Promise<void> {
  const nowMs = Date.now();
  const ofCommand = commandId(uuidV7(nowMs, randomBytes(10)));
  const recording = { commandId: ofCommand, actor: 'bench', recordedAt: new Date(nowMs).toISOString() };
  const { type } = await executeCommand(log, id, command, OPERATOR, recording);
  if (type !== 'done') throw new Error(`${command.type} was refused`);
}
