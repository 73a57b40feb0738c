import { fileURLToPath } from 'node:url';
import type { CatalogFile } from '../../../contracts/catalog.ts';
import { type Configuration, ConfigurationError } from '../../../contracts/configuration.ts';
import type { EventLog, ReadableLog } from '../../../contracts/event-log.ts';
import { counted } from '../../../contracts/money.ts';
import { type CatalogState, loadCatalog } from '../../../ledger/catalog/catalog-state.ts';
import { configuredProviders } from '../../../ledger/catalog/gateway-providers.ts';
import { decideCatalog, publishCatalog, publishedAs } from '../../../ledger/catalog/publish-catalog.ts';
import { readCatalogFile } from '../../../ledger/catalog/read-catalog-file.ts';
import { type CommandContext, recordingOf } from '../command-context.ts';
import { nextCommand, type StartedWith } from '../next-command.ts';

/** What the configuration says of the catalog, as its file is at this start. */
type ConfiguredCatalog =
  | { readonly type: 'read'; readonly file: string; readonly content: CatalogFile }
  | { readonly type: 'unusable'; readonly file: string; readonly error: ConfigurationError }
  /** A configuration file names none. */
  | { readonly type: 'none' }
  /** There is no configuration file: the example is sold, to the demo account. */
  | { readonly type: 'example'; readonly content: CatalogFile };

interface CatalogStart {
  readonly configured: ConfiguredCatalog;
  readonly startedWith: StartedWith;
}

/** How the catalog in force is not the one that the configuration names: for whoever starts the gateway, and its log. */
export interface CatalogNotice {
  /** The version in force; 0 where none is. */
  readonly version: number;
  /** The configured file; null where the configuration names none. */
  readonly file: string | null;
  /** The command that makes it the catalog in force. */
  readonly publish: string;
  /** One line. */
  readonly message: string;
}

const EXAMPLE_CATALOG = fileURLToPath(new URL('../../../contracts/example-catalog.yaml', import.meta.url));

/** Read before anything is begun, so that a first start with a catalog that cannot be published begins nothing. */
export function readConfiguredCatalog(configuration: Configuration): ConfiguredCatalog {
  const { catalog: file, file: of } = configuration;
  if (file === undefined) return of === null ? { type: 'example', content: readExample() } : { type: 'none' };
  try {
    return { type: 'read', file, content: readCatalogFile(file, configuredProviders(configuration)) };
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return { type: 'unusable', file, error };
  }
}

/**
 * Publishes the configured catalog, or the example, into a ledger that has none. Where it has one that stays in force,
 * whatever the file says: a price is changed by whoever publishes, never by a restart. What then differs is returned.
 * A file that cannot be used is refused where it is needed, and told where it is not: a gateway that starts again at
 * night has a catalog. @throws ConfigurationError in the former case; EventLogError
 */
export async function catalogAtStart(
  context: CommandContext,
  log: EventLog,
  start: CatalogStart,
): Promise<CatalogNotice | null> {
  const { configured } = start;
  const state = await loadCatalog(log);
  switch (configured.type) {
    case 'example':
      if (state.version === 0) await publishCatalog(log, configured.content, recordingOf(context));
      return null;
    case 'none':
      return catalogNotice(log, state, start);
    case 'unusable':
      if (state.version === 0) throw configured.error;
      return catalogNotice(log, state, start);
    case 'read': {
      if (state.version > 0) return catalogNotice(log, state, start);
      const { type } = await publishCatalog(log, configured.content, recordingOf(context));
      // Another proxy of the fleet was first, perhaps with another file.
      return type === 'conflict' ? catalogAtStart(context, log, start) : null;
    }
  }
}

/** How the catalog in force is not the one that is configured; null where it is. Publishes nothing. */
export async function catalogNotice(
  log: Pick<ReadableLog, 'readStream'>,
  state: CatalogState,
  { configured, startedWith }: CatalogStart,
): Promise<CatalogNotice | null> {
  switch (configured.type) {
    case 'example':
      return null;
    case 'none':
      return withoutFile(state, startedWith);
    case 'unusable': {
      const { file, error } = configured;
      return differing(state, file, startedWith, `cannot be used (${onOneLine(error)}); mend it, then publish it`);
    }
    case 'read': {
      const { file, content } = configured;
      if (decideCatalog(state, content, '') === null) return null;
      const older = await publishedAs(log, content);
      // Whoever follows an advice to publish it would sell at the prices of before.
      const amiss =
        older === null
          ? 'differs from it; to publish it'
          : `is older, as version ${older} was: bring the file up to date; to go back to what it says`;
      return differing(state, file, startedWith, amiss);
    }
  }
}

function differing({ version }: CatalogState, file: string, startedWith: StartedWith, amiss: string): CatalogNotice {
  const publish = publishOf(file, startedWith);
  const message = `catalog version ${version} of the ledger is in force; ${file} ${amiss}: ${publish}`;
  return { version, file, publish, message };
}

function withoutFile(state: CatalogState, startedWith: StartedWith): CatalogNotice | null {
  const publish = publishOf('FILE', startedWith);
  const { version } = state;
  if (version === 0) {
    const message = `no catalog is published, and the configuration names none: nothing is sold; to publish one: ${publish}`;
    return { version, file: null, publish, message };
  }
  if (decideCatalog(state, readExample(), '') !== null) return null;
  const message =
    `catalog version ${version} of the ledger is in force, which is the example: its models answer from the mock, and ` +
    `are billed; to publish another: ${publish}`;
  return { version, file: null, publish, message };
}

const publishOf = (file: string, startedWith: StartedWith): string =>
  nextCommand(startedWith, 'gateway', 'catalog', 'publish', file);

/** All its models run at the provider that is built in. */
const readExample = (): CatalogFile =>
  readCatalogFile(EXAMPLE_CATALOG, configuredProviders({ data: '', file: null, providers: {} }));

/** Faults of a file can be many, and a parser's go over several lines. */
function onOneLine({ faults }: ConfigurationError): string {
  const [first = ''] = faults;
  const [line = ''] = first.split('\n');
  const others = faults.length - 1;
  return others > 0 ? `${line} (${counted(others, 'more fault')})` : line;
}
