import { resolve } from 'node:path';
import type { z } from 'zod';
import type { configurationSchema, ProviderConfiguration } from '../../../contracts/configuration.ts';
import type { Environment } from '../../../contracts/environment-variable.ts';
import { fromEnvironment, fromSecretFile } from './secret-text.ts';

interface CredentialsSource {
  /** What relative paths begin in. */
  readonly base: string;
  readonly environment: Environment;
  /** False for commands that call no provider, which need no provider's credential. */
  readonly callsProviders: boolean;
}

/** The providers with their credentials, which are empty for who calls none. @param faults gets what is amiss */
export function readCredentials(
  parsed: z.infer<typeof configurationSchema>['providers'],
  { base, environment, callsProviders }: CredentialsSource,
  faults: string[],
): Record<string, ProviderConfiguration> {
  const providers: Record<string, ProviderConfiguration> = {};
  for (const [name, { apiKeyFile, ...provider }] of Object.entries(parsed)) {
    const file: { apiKeyFile?: string } = apiKeyFile === undefined ? {} : { apiKeyFile: resolve(base, apiKeyFile) };
    const isOne = (provider.apiKeyEnv === undefined) !== (apiKeyFile === undefined);
    if (!isOne) faults.push(`providers.${name}: needs either apiKeyEnv or apiKeyFile`);
    const apiKey = isOne && callsProviders ? credentialOf(name, { ...provider, ...file }, environment, faults) : '';
    providers[name] = { ...provider, ...file, apiKey, apiKeyPlace: file.apiKeyFile ?? provider.apiKeyEnv ?? '' };
  }
  return providers;
}

type CredentialPlace = Pick<ProviderConfiguration, 'apiKeyEnv' | 'apiKeyFile'>;

/** A provider's credential, as its variable or its file has it now. @param faults gets what is amiss */
export function credentialOf(
  name: string,
  { apiKeyEnv, apiKeyFile }: CredentialPlace,
  environment: Environment,
  faults: string[],
): string {
  return apiKeyFile === undefined
    ? fromEnvironment(apiKeyEnv ?? '', `providers.${name}.apiKeyEnv`, environment, faults)
    : fromSecretFile(apiKeyFile, `providers.${name}.apiKeyFile`, faults);
}
