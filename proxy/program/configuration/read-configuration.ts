import { dirname, resolve } from 'node:path';
import type { z } from 'zod';
import { type Configuration, ConfigurationError, configurationSchema } from '../../../contracts/configuration.ts';
import type { Environment } from '../../../contracts/environment-variable.ts';
import { describeFault, fieldFaults } from '../../../contracts/field-faults.ts';
import { slackFaults } from '../../../contracts/lease-slack.ts';
import { whyUnusable } from '../../../ledger/event-log/eventstoredb/connection-string.ts';
import { isInNoFolder, textOfArgument } from '../../../ledger/named-file.ts';
import { readYaml } from '../../../ledger/read-yaml.ts';
import { readCredentials } from './read-credentials.ts';
import { readKafka } from './read-kafka.ts';
import { readPayments } from './read-payments.ts';
import { readSeals } from './read-seals.ts';
import { fromEnvironment, fromSecretFile } from './secret-text.ts';
import { takeOutUntold } from './unfound-files.ts';

type Parsed = z.infer<typeof configurationSchema>;

interface ConfigurationSource {
  /** YAML or JSON, in a file or once through a pipe; null for the defaults. */
  readonly file: string | null;
  /** Stands above the file's `data`. */
  readonly data?: string | undefined;
  /** Where credentials are. */
  readonly environment: Environment;
  /** False for commands that call no provider, which need no provider's credential; what they need of Kafka they look for themselves. */
  readonly callsProviders: boolean;
}

/** Reads the configuration once; the result is frozen. @throws ConfigurationError with every fault. */
export function readConfiguration(source: ConfigurationSource): Configuration {
  const name = source.file ?? 'configuration';
  const base = source.file === null || isInNoFolder(source.file) ? process.cwd() : dirname(resolve(source.file));
  const result = configurationSchema.safeParse(
    source.file === null ? {} : (readYaml(source.file, textOfArgument) ?? {}),
    {
      reportInput: true,
    },
  );
  if (!result.success)
    throw new ConfigurationError(name, fieldFaults(result.error, configurationSchema).map(describeFault));
  takeOutUntold(result.data, base);
  const faults: string[] = [];
  const providers = readCredentials(result.data.providers, { ...source, base }, faults);
  const eventLog = withConnectionString(result.data.eventLog, { ...source, base }, faults);
  const kafka = readKafka(result.data.kafka, { ...source, base }, faults);
  if (result.data.projections.source === 'kafka' && kafka === null)
    faults.push('projections.source: kafka needs the section kafka');
  const isEmbedded = eventLog.kind === 'sqlite';
  const seals = readSeals(result.data.seals, { ...source, base, isEmbedded }, faults);
  const payments = readPayments(result.data.payments, { ...source, base }, faults);
  const { serve } = result.data.metrics;
  if (payments.provider === 'stripe' && payments.stripe.places.webhookSecrets.length > 0 && serve === undefined)
    faults.push('payments.stripe.webhookSecrets: webhooks are heard at metrics.serve, which is missing');
  const proxies = result.data.proxies ?? (eventLog.kind === 'eventstoredb' ? 'many' : 'one');
  // Over SQLite all proxies are on one machine, and have one clock.
  if (proxies === 'many' && eventLog.kind === 'eventstoredb') faults.push(...slackFaults(result.data));
  if (faults.length > 0) throw new ConfigurationError(name, faults);
  return deepFreeze({
    ...result.data,
    file: source.file,
    data: source.data === undefined ? resolve(base, result.data.data) : resolve(source.data),
    ...(result.data.catalog === undefined ? {} : { catalog: resolve(base, result.data.catalog) }),
    providers,
    eventLog,
    proxies,
    kafka,
    seals,
    payments,
  });
}

function withConnectionString(
  parsed: Parsed['eventLog'],
  { base, environment }: Pick<ConfigurationSource, 'environment'> & { readonly base: string },
  faults: string[],
): Configuration['eventLog'] {
  if (parsed.kind === 'sqlite') return parsed;
  const { connectionString, connectionStringEnv, connectionStringFile, streamPrefix } = parsed;
  const given = [connectionString, connectionStringEnv, connectionStringFile].filter((one) => one !== undefined);
  if (given.length !== 1) {
    faults.push('eventLog: needs one of connectionString, connectionStringEnv and connectionStringFile');
    return { kind: 'eventstoredb', connectionString: '', streamPrefix };
  }
  const before = faults.length;
  const read = (): { readonly text: string; readonly where: string } => {
    if (connectionStringEnv !== undefined) {
      const field = 'eventLog.connectionStringEnv';
      const text = fromEnvironment(connectionStringEnv, field, environment, faults);
      return { text, where: `${field}: the connection string in the environment variable ${connectionStringEnv}` };
    }
    if (connectionStringFile !== undefined) {
      const [field, file] = ['eventLog.connectionStringFile', resolve(base, connectionStringFile)];
      return { text: fromSecretFile(file, field, faults), where: `${field}: the connection string in ${file}` };
    }
    return { text: connectionString ?? '', where: 'eventLog.connectionString: it' };
  };
  const { text, where } = read();
  // Of what could not be read that is said already.
  const why = faults.length > before ? null : whyUnusable(text);
  if (why !== null) faults.push(`${where} cannot be used: ${why}`);
  return { kind: 'eventstoredb', connectionString: text, streamPrefix };
}

function deepFreeze<T>(value: T): T {
  if (value !== null && typeof value === 'object') {
    for (const inner of Object.values(value)) deepFreeze(inner);
    Object.freeze(value);
  }
  return value;
}
