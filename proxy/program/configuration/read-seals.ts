import { resolve } from 'node:path';
import type { z } from 'zod';
import type { configurationSchema, SealsConfiguration } from '../../../contracts/configuration.ts';
import { type Environment, variableNotSet } from '../../../contracts/environment-variable.ts';

interface SealsSource {
  /** What relative paths begin in. */
  readonly base: string;
  readonly environment: Environment;
  /** False for commands, most of which need no key. */
  readonly callsProviders: boolean;
  readonly isEmbedded: boolean;
}

/** The section `seals` with its key's place. @param faults gets what is amiss */
export function readSeals(
  { keyFile, keyEnv, copyTo, events, afterMs }: z.infer<typeof configurationSchema>['seals'],
  { base, environment, callsProviders, isEmbedded }: SealsSource,
  faults: string[],
): SealsConfiguration {
  if (keyFile !== undefined && keyEnv !== undefined) faults.push('seals: takes keyFile or keyEnv, not both');
  const pem = keyEnv === undefined ? '' : (environment[keyEnv] ?? '');
  if (keyEnv !== undefined && pem === '' && callsProviders) faults.push(`seals.keyEnv: ${variableNotSet(keyEnv)}`);
  const place = { events, afterMs, copyTo: copyTo === undefined ? null : resolve(base, copyTo) };
  if (keyFile !== undefined) return { ...place, key: { type: 'file', file: resolve(base, keyFile) } };
  if (keyEnv !== undefined) return { ...place, key: { type: 'text', pem } };
  return { ...place, key: isEmbedded ? { type: 'data folder' } : null };
}
