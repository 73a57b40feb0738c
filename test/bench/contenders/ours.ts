import type { ChildProcess } from 'node:child_process';
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { HIGH_LIMITS } from '../../fixtures/gateway/high-limits.ts';
import { GATEWAY_PROGRAM } from '../../fixtures/processes/gateway-command.ts';
import { nodeFlagsOf } from '../../fixtures/processes/node-flags.ts';
import type { Processes } from '../../fixtures/processes/processes.ts';
import { MODELS } from '../fast-upstream/answers.ts';
import { readyLine } from '../ready-line.ts';
import type { Contender, ContenderName } from './contender.ts';
import { type GatewayData, makeGatewayData } from './gateway-data.ts';

const PROBE = fileURLToPath(new URL('../event-loop-probe.ts', import.meta.url));

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
  readonly name?: ContenderName;
  /** Where it has its files, below those of the run; otherwise by its name. */
  readonly folder?: string;
  /** Its `proxy/main.ts`, where that is not this one. */
  readonly main?: string;
  /** False where the event-loop probe would be part of what is measured. */
  readonly isProbed?: boolean;
  /** Of its configuration, beside what all have. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** It begins with a copy of these; otherwise they are made by itself. */
  readonly began?: GatewayData;
  /** Where it has much to fold before it is ready. */
  readonly readyMsMax?: number;
}

/**
 * The gateway as its users run it: `gateway serve` with a provider, priced models and accounts with credits, durable
 * billing on. Whatever of its command line changes is changed here.
 */
export async function startOurs(
  processes: Processes,
  upstreamPort: number,
  {
    profile,
    name = 'ours',
    folder: called = name,
    main = GATEWAY_PROGRAM,
    isProbed = true,
    settings,
    began,
    readyMsMax,
  }: OursOptions,
): Promise<Ours> {
  const folder = join(processes.folder, called);
  const data = join(folder, 'data');
  const profileFolder = join(folder, 'profiles');
  const probeFile = join(folder, 'event-loop.json');
  mkdirSync(data, { recursive: true });
  if (began !== undefined) cpSync(began.folder, data, { recursive: true });
  const configuration = join(folder, 'gateway.json');
  const catalog = join(folder, 'catalog.json');
  writeFileSync(configuration, JSON.stringify({ ...configurationOf(data, catalog, upstreamPort), ...settings }));
  writeFileSync(catalog, JSON.stringify({ models: Object.values(MODELS).map(modelOf) }));
  const { keys, brokeKey } = began ?? makeGatewayData(main, data);
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
  const { url } = await readyLine<{ url: string }>(child, processes, called, readyMsMax);
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

function countEvents(file: string): number {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    // Positions have no gaps.
    return Number(database.prepare('SELECT max(position) AS events FROM event').get()?.events ?? 0);
  } finally {
    database.close();
  }
}
