import { type ChildProcess, execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { HIGH_LIMITS } from '../../fixtures/gateway/high-limits.ts';
import { nodeFlagsOf } from '../../fixtures/processes/node-flags.ts';
import type { Processes } from '../../fixtures/processes/processes.ts';
import { MODELS } from '../fast-upstream/answers.ts';
import { READY_MS_MAX, readyLine } from '../ready-line.ts';
import type { Contender } from './contender.ts';

const MAIN = fileURLToPath(new URL('../../../proxy/main.mjs', import.meta.url));
const PROBE = fileURLToPath(new URL('../event-loop-probe.ts', import.meta.url));
/** Callers that pay, so that not every request is a line of one account's stream. */
const ACCOUNTS = 4;

export interface Ours extends Contender {
  readonly process: ChildProcess;
  /** Of an account without credits. */
  readonly brokeKey: string;
  /** What the event-loop probe writes on SIGUSR2. */
  readonly probeFile: string;
  /** Where `--cpu-prof` leaves its profiles when the process has ended. */
  readonly profileFolder: string;
  /** The file. */
  readonly ledger: string;
  readonly configuration: string;
  /** How many events it holds. */
  eventsInLedger(): number;
}

interface OursOptions {
  readonly profile: boolean;
  readonly name?: 'ours' | 'before';
  /** Where it has its files, below those of the run; otherwise by its name. */
  readonly folder?: string;
  /** Its `proxy/main.ts`, where that is not this one. */
  readonly main?: string;
  /** False where the event-loop probe would be part of what is measured. */
  readonly isProbed?: boolean;
  /** Of its configuration, beside what all have. */
  readonly settings?: Readonly<Record<string, unknown>>;
}

/**
 * The gateway as its users run it: `gateway serve` with a provider, priced models and accounts with credits, durable
 * billing on. Whatever of its command line changes is changed here.
 */
export async function startOurs(
  processes: Processes,
  upstreamPort: number,
  { profile, name = 'ours', folder: called = name, main = MAIN, isProbed = true, settings }: OursOptions,
): Promise<Ours> {
  const folder = join(processes.folder, called);
  const data = join(folder, 'data');
  const profileFolder = join(folder, 'profiles');
  const probeFile = join(folder, 'event-loop.json');
  mkdirSync(data, { recursive: true });
  const configuration = join(folder, 'gateway.json');
  const catalog = join(folder, 'catalog.json');
  writeFileSync(configuration, JSON.stringify({ ...configurationOf(data, catalog, upstreamPort), ...settings }));
  writeFileSync(catalog, JSON.stringify({ models: Object.values(MODELS).map(modelOf) }));
  const keys = Array.from({ length: ACCOUNTS }, (_, index) => openAccount(main, data, index));
  const brokeKey = openBrokeAccount(main, data, configuration);
  const child = processes.spawn(
    called,
    [
      process.execPath,
      ...nodeFlagsOf(main),
      ...(isProbed ? ['--import', PROBE] : []),
      ...(profile ? ['--cpu-prof', `--cpu-prof-dir=${profileFolder}`] : []),
      main,
      '--config',
      configuration,
      '--json',
      'serve',
    ],
    { environment: { BENCH_KEY: 'bench', EVENT_LOOP_PROBE_FILE: probeFile, NODE_ENV: 'production' }, stdout: 'pipe' },
  );
  const ledger = ledgerOfOurs(processes, called);
  const { url } = await readyLine<{ url: string }>(child, processes, called);
  return {
    name,
    port: Number(new URL(url).port),
    headers: keys.map((key) => ({ 'x-api-key': key })),
    pids: [child.pid ?? 0],
    needsWarmUp: true,
    process: child,
    brokeKey,
    probeFile,
    profileFolder,
    ledger,
    configuration,
    eventsInLedger: () => countEvents(ledger),
  };
}

/** Before it is started, too: what is there by then, it has. */
export const ledgerOfOurs = (processes: Processes, folder: string): string =>
  join(processes.folder, folder, 'data', 'ledger.db');

export const configurationOf = (data: string, catalog: string, upstreamPort: number) => ({
  listen: { host: '127.0.0.1', port: 0 },
  trialUsd: '0.00',
  data,
  catalog,
  providers: {
    bench: {
      protocol: 'messages',
      baseUrl: `http://127.0.0.1:${upstreamPort}`,
      apiKeyEnv: 'BENCH_KEY',
      // As many as `streams` tries, and half as many for one account.
      connections: 4_096,
    },
  },
  rateLimits: HIGH_LIMITS,
});

export const modelOf = (id: string) => ({
  id,
  display_name: id,
  family: 'opal',
  label: id,
  group: 'Bench',
  context_window: 200_000,
  price: { input: '3.00', output: '15.00' },
  upstreams: [{ provider: 'bench', model: id }],
});

/** An account with credits for any number of requests; its key. */
function openAccount(main: string, data: string, index: number): string {
  const id = `acct_bench${index}`;
  gateway(main, data, 'account', 'open', '--kind', 'personal', '--email', `bench${index}@example.com`, '--id', id);
  gateway(main, data, 'credits', 'grant', id, '--usd', '1000000', '--source', 'purchase');
  const { key } = JSON.parse(gateway(main, data, 'key', 'issue', id));
  return String(key);
}

/** The configuration gives no trial. */
function openBrokeAccount(main: string, data: string, configuration: string): string {
  const config = ['--config', configuration];
  gateway(
    main,
    data,
    'account',
    'open',
    '--kind',
    'personal',
    '--email',
    'broke@example.com',
    '--id',
    'acct_broke',
    ...config,
  );
  return String(JSON.parse(gateway(main, data, 'key', 'issue', 'acct_broke')).key);
}

function gateway(main: string, data: string, ...command: string[]): string {
  const program = [main, ...command, '--data', data, '--json'];
  return execFileSync(process.execPath, program, { encoding: 'utf8', timeout: READY_MS_MAX, stdio: 'pipe' });
}

function countEvents(file: string): number {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    // Positions have no gaps.
    return Number(database.prepare('SELECT max(position) AS events FROM event').get()?.events ?? 0);
  } finally {
    database.close();
  }
}
