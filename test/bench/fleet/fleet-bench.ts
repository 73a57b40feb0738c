import { randomBytes } from 'node:crypto';
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pino from 'pino';
import { type AccountId, accountId, commandId, uuidV7 } from '../../../contracts/ids.ts';
import { microUsd } from '../../../contracts/money.ts';
import type { AccountCommand } from '../../../ledger/account/commands.ts';
import { executeCommand } from '../../../ledger/account/execute-command.ts';
import { openEventStoreDbEventLog } from '../../../ledger/event-log/eventstoredb/eventstoredb-event-log.ts';
import { ProxyClaim } from '../../../proxy/claim/proxy-claim.ts';
import { TimePassed } from '../../../proxy/clock/time-passed.ts';
import { startFakeEventStore } from '../../eventstoredb/fake-event-store.ts';
import { HIGH_LIMITS } from '../../fixtures/gateway/high-limits.ts';
import { type PostTarget, postMessage } from '../../fixtures/gateway/post-message.ts';
import { OPERATOR } from '../../fixtures/ledger/actors.ts';
import { GATEWAY_PROGRAM, gatewayCommand } from '../../fixtures/processes/gateway-command.ts';
import { freePort, type Processes } from '../../fixtures/processes/processes.ts';
import type { FleetNews, FleetSample } from './fleet-figures.ts';

const PROXIES = 3;
const ROUNDS = 5;
/** Whoever has not refused by then does not. */
const REFUSED_MS_MAX = 15_000;
const ACCOUNT: AccountId = accountId('acct_fleet');
const CATALOG = fileURLToPath(new URL('../../../contracts/example-catalog.yaml', import.meta.url));

type Log = Awaited<ReturnType<typeof openEventStoreDbEventLog>>;

interface Proxy extends PostTarget {
  readonly name: string;
  readonly data: string;
}

/** How soon each of several proxies refuses for what another process has written into the log. */
export async function measureFleet(processes: Processes): Promise<FleetSample[]> {
  const store = await startFakeEventStore();
  const log = await openEventStoreDbEventLog({ connectionString: store.connectionString });
  try {
    const proxies = await startProxies(processes, store.connectionString);
    const samples: FleetSample[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      samples.push(...(await measureLimit(log, proxies)), ...(await measureSuspension(log, proxies)));
    }
    // The last: whoever is fenced stays so.
    for (const proxy of proxies) samples.push(await measureClaim(processes, log, proxy));
    for (const { name } of proxies) await processes.stop(name);
    return samples;
  } finally {
    await log.close();
    await store.stop();
  }
}

async function startProxies(processes: Processes, connectionString: string): Promise<Proxy[]> {
  const places = await Promise.all(
    Array.from({ length: PROXIES }, async (_, index) => {
      const name = `fleet-${index}`;
      const data = join(processes.folder, name);
      mkdirSync(data);
      const port = await freePort();
      const configPath = join(processes.folder, `${name}.json`);
      const eventLog = { kind: 'eventstoredb', connectionString };
      writeFileSync(
        configPath,
        JSON.stringify({
          listen: { port },
          data,
          catalog: CATALOG,
          eventLog,
          rateLimits: HIGH_LIMITS,
          logLevel: 'error',
        }),
      );
      return { name, data, port, configPath };
    }),
  );
  const command = (...args: readonly string[]) => gatewayCommand(places[0]?.configPath ?? '', ...args);
  await command('account', 'open', '--email', 'fleet@example.com', '--id', ACCOUNT, '--trial-usd', '1000');
  const { key } = JSON.parse(await command('key', 'issue', ACCOUNT));
  for (const { name, configPath } of places)
    processes.spawn(name, [process.execPath, GATEWAY_PROGRAM, 'serve', '--config', configPath]);
  const proxies = places.map(({ name, data, port }) => ({ name, data, key, url: `http://127.0.0.1:${port}` }));
  for (const { name, port } of places) await processes.untilListening(name, port);
  await untilAll(proxies, 200);
  return proxies;
}

async function measureLimit(log: Log, proxies: readonly Proxy[]): Promise<FleetSample[]> {
  await run(log, { type: 'SetSpendLimit', keyId: null, limit: microUsd(0n), nowMs: Date.now() });
  const samples = await refusals('a limit is set', proxies, 402);
  await run(log, { type: 'SetSpendLimit', keyId: null, limit: null, nowMs: Date.now() });
  await untilAll(proxies, 200);
  return samples;
}

async function measureSuspension(log: Log, proxies: readonly Proxy[]): Promise<FleetSample[]> {
  await run(log, { type: 'SuspendAccount', reason: 'measured' });
  const samples = await refusals('the account is suspended', proxies, 403);
  await run(log, { type: 'ReinstateAccount', reason: 'measured' });
  await untilAll(proxies, 200);
  return samples;
}

/** As a process that was started on a copy of the folder does. */
async function measureClaim(processes: Processes, log: Log, proxy: Proxy): Promise<FleetSample> {
  const dataFolder = join(processes.folder, `${proxy.name}-copy`);
  mkdirSync(dataFolder);
  for (const file of ['proxy-id', 'proxy-claims.json']) copyFileSync(join(proxy.data, file), join(dataFolder, file));
  const logger = pino({ level: 'silent' });
  const folder = 'of the copy';
  const passed = new TimePassed(Date.now, () => performance.now());
  const parts = { log, dataFolder, folder, isOnly: false, clock: Date.now, passed, logger };
  const claim = new ProxyClaim({ ...parts, onFenced: () => undefined });
  await claim.take();
  const [sample] = await refusals('its name is claimed by a copy', [proxy], 529);
  await claim.close();
  if (sample === undefined) throw new Error('one proxy has one sample');
  return sample;
}

/** The log has the news when this is called. */
async function refusals(news: FleetNews, proxies: readonly Proxy[], status: number): Promise<FleetSample[]> {
  const sinceMs = performance.now();
  return Promise.all(proxies.map(async (proxy) => ({ news, ms: await untilStatus(proxy, status, sinceMs) })));
}

const untilAll = (proxies: readonly Proxy[], status: number): Promise<number[]> =>
  Promise.all(proxies.map((proxy) => untilStatus(proxy, status, performance.now())));

/** When the first request was sent that got this status, after `sinceMs`. @throws Error when none gets it in time. */
async function untilStatus(proxy: Proxy, status: number, sinceMs: number): Promise<number> {
  for (;;) {
    const sentMs = performance.now() - sinceMs;
    const answer = await postMessage(proxy, { maxTokens: 16 });
    const body = await answer.rest();
    if (answer.status === status) return sentMs;
    if (sentMs > REFUSED_MS_MAX)
      throw new Error(`${proxy.name} answers ${answer.status}, not ${status}: ${body.toString('utf8').slice(0, 500)}`);
  }
}

async function run(log: Log, command: AccountCommand): Promise<void> {
  const nowMs = Date.now();
  const id = commandId(uuidV7(nowMs, randomBytes(10)));
  const recording = { commandId: id, actor: 'bench', recordedAt: new Date(nowMs).toISOString() };
  const { type } = await executeCommand(log, ACCOUNT, command, OPERATOR, recording);
  if (type !== 'done') throw new Error(`${command.type} was refused`);
}
