import { readFileSync } from 'node:fs';
import { parse as parseYaml } from 'yaml';
import { type CatalogFile, catalogFileSchema } from '../../contracts/catalog.ts';
import { ConfigurationError } from '../../contracts/configuration.ts';
import { describeFault, fieldFaults } from '../../contracts/field-faults.ts';

/**
 * Reads a catalog file (YAML or JSON). Providers that the file names must be among those given, where they are given.
 * @throws ConfigurationError with every fault and its path.
 */
export function readCatalogFile(file: string, providers: readonly string[] | null): CatalogFile {
  const result = catalogFileSchema.safeParse(readYaml(file), { reportInput: true });
  if (!result.success) throw new ConfigurationError(file, fieldFaults(result.error).map(describeFault));
  const faults = providers === null ? [] : unknownProviders(result.data, providers);
  if (faults.length > 0) throw new ConfigurationError(file, faults);
  return result.data;
}

function readYaml(file: string): unknown {
  try {
    return parseYaml(readFileSync(file, 'utf8'));
  } catch (cause) {
    throw new ConfigurationError(file, [cause instanceof Error ? cause.message : String(cause)]);
  }
}

const unknownProviders = ({ models }: CatalogFile, providers: readonly string[]): string[] =>
  models.flatMap((model, index) =>
    model.upstreams
      .map(({ provider }, place) => ({ provider, path: `models.${index}.upstreams.${place}.provider` }))
      .filter(({ provider }) => provider !== 'mock' && !providers.includes(provider))
      .map(({ provider, path }) => `${path}: the configuration has no provider ${JSON.stringify(provider)}`),
  );
