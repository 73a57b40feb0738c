import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { Configuration } from '../../contracts/configuration.ts';
import { replaceFile } from '../replace-file.ts';
import { wantOfRightsOf } from '../want-of-rights.ts';

/** Built into every gateway. */
const BUILT_IN = 'mock';
/** In the data folder of a gateway while it runs: the names of the providers that it was started with. */
const PROVIDERS_FILE = 'providers.json';

const noteSchema = z.strictObject({ providers: z.array(z.string()) });

type Configured = Pick<Configuration, 'data' | 'file' | 'providers'>;

/** The providers that a catalog may name. */
export interface KnownProviders {
  readonly names: readonly string[];
  /** Whose they are, as the subject of a sentence. */
  readonly of: string;
  /** What makes a further one known. */
  readonly remedy: string;
}

/**
 * Those of the gateway that runs on the data folder, where one does and the folder is here; else those of the
 * configuration, which is found as `gateway serve` finds it. @throws Error where the gateway's note cannot be read
 */
export function knownProviders(configuration: Configured): KnownProviders {
  const { data } = configuration;
  const noted = readNoted(data);
  if (noted === null) return configuredProviders(configuration);
  return {
    names: [BUILT_IN, ...noted],
    of: `the gateway on ${data}`,
    remedy: 'start it with a configuration that has it, then publish',
  };
}

/** Those that a gateway has which is started with this configuration. */
export function configuredProviders({ file, providers }: Configured): KnownProviders {
  const names = [BUILT_IN, ...Object.keys(providers)];
  if (file === null)
    return {
      names,
      of: 'a gateway without a configuration file',
      remedy: "name the gateway's file by --config or GATEWAY_CONFIG, as for `gateway serve`",
    };
  return { names, of: `the configuration ${file}`, remedy: 'add it under providers, and start the gateway with that' };
}

/** For as long as the gateway runs; one that is killed leaves it to the next. On disk when it returns. */
export const noteProviders = ({ data, providers }: Configured): void =>
  replaceFile(join(data, PROVIDERS_FILE), `${JSON.stringify({ providers: Object.keys(providers) })}\n`);

/** By the gateway that has noted them, when it ends. */
export const forgetProviders = (data: string): void => rmSync(join(data, PROVIDERS_FILE), { force: true });

function readNoted(data: string): readonly string[] | null {
  const file = join(data, PROVIDERS_FILE);
  try {
    return noteSchema.parse(JSON.parse(readFileSync(file, 'utf8'))).providers;
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && (cause.code === 'ENOENT' || cause.code === 'ENOTDIR')) return null;
    const lacking = wantOfRightsOf(cause);
    if (lacking !== null) throw new Error(lacking, { cause });
    throw new Error(`${file} does not name the providers of a gateway; start the gateway again, or delete it`, {
      cause,
    });
  }
}
