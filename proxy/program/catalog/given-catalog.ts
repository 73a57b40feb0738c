import type { CatalogFile } from '../../../contracts/catalog.ts';
import type { Configuration } from '../../../contracts/configuration.ts';
import { type KnownProviders, knownProviders } from '../../../ledger/catalog/gateway-providers.ts';
import { readCatalogFile } from '../../../ledger/catalog/read-catalog-file.ts';
import { textOfArgument } from '../../../ledger/named-file.ts';
import { CommandError, EXIT } from '../command-error.ts';

/** The catalog file that a command line names. @throws ConfigurationError with its faults; CommandError */
export const givenCatalog = (file: string, configuration: Configuration): CatalogFile =>
  readCatalogFile(file, providersFor(configuration), textOfArgument);

/** @throws CommandError where what the running gateway has cannot be told */
function providersFor(configuration: Configuration): KnownProviders {
  try {
    return knownProviders(configuration);
  } catch (error) {
    throw new CommandError(error instanceof Error ? error.message : String(error), EXIT.unavailable);
  }
}
