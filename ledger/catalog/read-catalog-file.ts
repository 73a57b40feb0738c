import { type CatalogFile, catalogFileSchema } from '../../contracts/catalog.ts';
import { ConfigurationError } from '../../contracts/configuration.ts';
import { describeFault, fieldFaults } from '../../contracts/field-faults.ts';
import { nearName } from '../../contracts/near-name.ts';
import { textOfFile } from '../named-file.ts';
import { readYaml } from '../read-yaml.ts';
import type { KnownProviders } from './gateway-providers.ts';

/** YAML or JSON, naming only known providers. @param textOf `textOfArgument` where a command line names it. @throws ConfigurationError with every fault and its path */
export function readCatalogFile(file: string, known: KnownProviders, textOf = textOfFile): CatalogFile {
  const result = catalogFileSchema.safeParse(readYaml(file, textOf), { reportInput: true });
  if (!result.success)
    throw new ConfigurationError(file, fieldFaults(result.error, catalogFileSchema).map(describeFault));
  const faults = unknownProviders(result.data, known);
  if (faults.length > 0) throw new ConfigurationError(file, faults);
  return result.data;
}

const unknownProviders = ({ models }: CatalogFile, { names, of, remedy }: KnownProviders): string[] =>
  models.flatMap(({ id, upstreams }, index) =>
    upstreams.flatMap(({ provider }, place) => {
      if (names.includes(provider)) return [];
      const near = nearName(provider, names);
      const meant = near === null ? '' : ` (is ${near} meant?)`;
      return [
        `models.${index}.upstreams.${place}.provider: ${of} has no provider ${JSON.stringify(provider)}${meant}, which the ` +
          `model ${id} needs; it has ${names.join(', ')}. What to do: ${remedy}`,
      ];
    }),
  );
