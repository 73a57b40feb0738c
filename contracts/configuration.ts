import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { parse as parseYaml } from 'yaml';
import { z } from 'zod';
import { describeFault, fieldFaults } from './field-faults.ts';
import { LIMITS } from './limits.ts';
import { type MicroUsd, parseUsd } from './money.ts';

const milliseconds = (max: number) => z.int().min(1).max(max);
const httpUrl = z.url({ protocol: /^https?$/, error: 'expected an http or https URL' });

const usd = z.string().transform((text, context): MicroUsd => {
  const amount = parseUsd(text);
  if (amount !== null) return amount;
  context.addIssue({ code: 'custom', message: 'expected USD as a string such as "5.00"' });
  return z.NEVER;
});

const providerSchema = z.strictObject({
  protocol: z.literal('messages'),
  /** Where `/v1/messages` is appended. */
  baseUrl: httpUrl,
  /** The environment variable that holds the provider's credential. */
  apiKeyEnv: z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'expected the name of an environment variable'),
  /** The header that carries the credential. */
  auth: z.enum(['x-api-key', 'bearer']).default('x-api-key'),
  /** Sent when the client sends no `anthropic-version`. */
  version: z.string().default('2023-06-01'),
  countTokens: z.boolean().default(true),
  /** A client that leaves: read on to the final usage, or cancel the upstream's call (design, section 5). */
  onClientDisconnect: z.enum(['drain', 'cancel']).default('drain'),
  connections: z.int().min(1).max(10_000).default(512),
  connectMs: milliseconds(LIMITS.connectMs).default(LIMITS.connectMs),
  firstByteMs: milliseconds(LIMITS.firstByteMs).default(LIMITS.firstByteMs),
  idleMs: milliseconds(LIMITS.idleMs).default(LIMITS.idleMs),
  totalMs: milliseconds(LIMITS.requestTotalMs).default(LIMITS.requestTotalMs),
});

const configurationSchema = z.strictObject({
  listen: z
    .strictObject({ host: z.string().min(1).default('127.0.0.1'), port: z.int().min(0).max(65_535).default(8787) })
    .prefault({}),
  /** The data folder: ledger, views and journal. Relative to the configuration file. */
  data: z.string().min(1).default('.data'),
  eventLog: z.strictObject({ kind: z.literal('sqlite') }).default({ kind: 'sqlite' }),
  /** A catalog file that is published at start when the ledger has no catalog. Relative to the configuration file. */
  catalog: z.string().min(1).optional(),
  providers: z
    .record(z.string().regex(/^[a-z0-9][a-z0-9-]*$/), providerSchema)
    .default({})
    .refine((providers) => !Object.hasOwn(providers, 'mock'), {
      path: ['mock'],
      error: 'is built in; choose another name',
    }),
  /** What new accounts get for 30 days (specification, What the service does, 7). */
  trialUsd: usd.default(5_000_000n as MicroUsd),
  /** What a stream that the upstream broke off costs: nothing, or what was reported up to then. */
  chargeInterrupted: z.enum(['none', 'reported']).default('none'),
  drainMs: milliseconds(LIMITS.drainMs).default(LIMITS.drainMs),
  shutdownDrainMs: milliseconds(10 * LIMITS.shutdownDrainMs).default(LIMITS.shutdownDrainMs),
  logLevel: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
});

type Parsed = z.infer<typeof configurationSchema>;
export type ProviderConfiguration = z.infer<typeof providerSchema> & { readonly apiKey: string };
export interface Configuration extends Omit<Parsed, 'providers'> {
  /** The file that was read; null where there is none and everything has its default. */
  readonly file: string | null;
  readonly providers: Readonly<Record<string, ProviderConfiguration>>;
}

/** What is wrong with a configuration: all faults together, each with its path. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';
  readonly faults: readonly string[];

  constructor(source: string, faults: readonly string[]) {
    super(`${source}:\n${faults.map((fault) => `  ${fault}`).join('\n')}`);
    this.faults = faults;
  }
}

export interface ConfigurationSource {
  /** YAML or JSON; null for the defaults. */
  readonly file: string | null;
  /** Stands above the file's `data`. */
  readonly data?: string | undefined;
  /** Where the providers' credentials are; null for commands that call no provider, which need none. */
  readonly environment: Readonly<Record<string, string | undefined>> | null;
}

/** Reads the configuration once; the result is frozen. @throws ConfigurationError with every fault. */
export function readConfiguration(source: ConfigurationSource): Configuration {
  const name = source.file ?? 'configuration';
  const base = source.file === null ? process.cwd() : dirname(resolve(source.file));
  const result = configurationSchema.safeParse(source.file === null ? {} : readFile(source.file), {
    reportInput: true,
  });
  if (!result.success) throw new ConfigurationError(name, fieldFaults(result.error).map(describeFault));
  const { providers, faults } = withCredentials(result.data.providers, source.environment);
  if (faults.length > 0) throw new ConfigurationError(name, faults);
  return deepFreeze({
    ...result.data,
    file: source.file,
    data: source.data === undefined ? resolve(base, result.data.data) : resolve(source.data),
    ...(result.data.catalog === undefined ? {} : { catalog: resolve(base, result.data.catalog) }),
    providers,
  });
}

function readFile(file: string): unknown {
  try {
    return parseYaml(readFileSync(file, 'utf8')) ?? {};
  } catch (cause) {
    throw new ConfigurationError(file, [cause instanceof Error ? cause.message : String(cause)]);
  }
}

function withCredentials(parsed: Parsed['providers'], environment: ConfigurationSource['environment']) {
  const faults: string[] = [];
  const providers: Record<string, ProviderConfiguration> = {};
  for (const [name, provider] of Object.entries(parsed)) {
    const apiKey = environment?.[provider.apiKeyEnv] ?? '';
    if (environment !== null && apiKey === '')
      faults.push(`providers.${name}.apiKeyEnv: the environment variable ${provider.apiKeyEnv} is not set`);
    providers[name] = { ...provider, apiKey };
  }
  return { providers, faults };
}

function deepFreeze<T>(value: T): T {
  if (value !== null && typeof value === 'object') {
    for (const inner of Object.values(value)) deepFreeze(inner);
    Object.freeze(value);
  }
  return value;
}
