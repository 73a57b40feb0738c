import { resolve } from 'node:path';
import type { z } from 'zod';
import type { KafkaConfiguration, KafkaSasl, kafkaSchema } from '../../../contracts/kafka-configuration.ts';
import { type FilesSource, type KafkaFaults, readKafkaTls } from './read-kafka-tls.ts';
import { fromEnvironment, fromFile } from './secret-text.ts';

type Sasl = NonNullable<z.infer<typeof kafkaSchema>['sasl']>;

interface KafkaSource extends FilesSource {
  /** False for commands, most of which need no Kafka: what those that do cannot read stands in `unread`. */
  readonly callsProviders: boolean;
}

/** The section with what its variables and files hold. Null where there is none. @param faults gets what is amiss */
export function readKafka(
  parsed: z.infer<typeof kafkaSchema> | undefined,
  { callsProviders, ...source }: KafkaSource,
  faults: string[],
): KafkaConfiguration | null {
  if (parsed === undefined) return null;
  const { replicationFactor: replicas = -1, minInsyncReplicas = 1 } = parsed;
  if (replicas !== -1 && minInsyncReplicas > replicas)
    faults.push('kafka.minInsyncReplicas: is more than kafka.replicationFactor, so that nothing could be written');
  const unread: string[] = [];
  const both = { section: faults, named: callsProviders ? faults : unread };
  const ssl = readKafkaTls(parsed.ssl, source, both);
  const sasl = parsed.sasl === undefined ? null : readSasl(parsed.sasl, source, both);
  return { ...parsed, ssl, sasl, ...(unread.length === 0 ? {} : { unread }) };
}

function readSasl(sasl: Sasl, { base, environment }: FilesSource, { section, named }: KafkaFaults): KafkaSasl {
  if (sasl.mechanism !== 'oauthbearer') {
    const { mechanism, username, passwordEnv } = sasl;
    return {
      mechanism,
      username,
      password: fromEnvironment(passwordEnv, 'kafka.sasl.passwordEnv', environment, named),
    };
  }
  const { mechanism, tokenCommand, tokenFile } = sasl;
  if ((tokenCommand === undefined) === (tokenFile === undefined))
    section.push('kafka.sasl: needs either tokenCommand or tokenFile');
  if (tokenFile === undefined) return { mechanism, token: { command: withProgram(tokenCommand ?? [], base) } };
  const file = resolve(base, tokenFile);
  // What it holds is looked at when it is needed: by then it may be another token.
  fromFile(file, 'kafka.sasl.tokenFile', named);
  return { mechanism, token: { file } };
}

/** A program that is named by a path is found beside the configuration file, any other by PATH. */
const withProgram = ([program = '', ...rest]: readonly string[], base: string): string[] => [
  program.includes('/') ? resolve(base, program) : program,
  ...rest,
];
