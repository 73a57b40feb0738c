import type { Logger } from 'pino';
import type { CatalogModel } from '../contracts/catalog.ts';
import type { CatalogState } from '../ledger/catalog/catalog-state.ts';
import { callableModels } from './admission/model-lifecycle.ts';
import type { UpstreamDirectory } from './upstream/upstream-directory.ts';

interface UnservedParts {
  readonly catalog: { readonly state: CatalogState };
  readonly upstreams: Pick<UpstreamDirectory, 'deploymentsOf'>;
  readonly clock: () => number;
  readonly logger: Logger;
}

/** As many are named where one line says it; the log has all of them. */
const NAMED_MAX = 5;

const NOTHING_SOLD = 'no catalog is published: there is no model, and each request for one is answered with 404';

/**
 * Models of the catalog that can be called and that this gateway has no provider for: each of their requests is answered
 * with 502 until the catalog or the configuration is mended. `gateway catalog publish` refuses such a catalog where it
 * can know; what it cannot know shows here.
 */
export class UnservedModels {
  readonly #parts: UnservedParts;
  #reportedHash: string | null = null;

  constructor(parts: UnservedParts) {
    this.#parts = parts;
  }

  get count(): number {
    return this.#models().length;
  }

  /** One line; null where there are models, and every one has a provider. */
  describe(): string | null {
    const { catalog } = this.#parts;
    return describeUnserved(catalog.state, this.#models());
  }

  /** Into the log, once for each catalog that has some. */
  tell(): void {
    const { catalog, logger } = this.#parts;
    if (this.#reportedHash === catalog.state.hash) return;
    this.#reportedHash = catalog.state.hash;
    const models = this.#models().map(nameOf);
    if (models.length > 0)
      logger.error(
        { models, catalog: catalog.state.version },
        'models of the catalog have no provider in this configuration',
      );
  }

  #models(): CatalogModel[] {
    const { catalog, upstreams, clock } = this.#parts;
    return callableModels(catalog.state, clock()).filter((model) => upstreams.deploymentsOf(model).length === 0);
  }
}

/** The same of models that were found to have no provider. */
export function describeUnserved({ version }: CatalogState, models: readonly CatalogModel[]): string | null {
  if (version === 0) return NOTHING_SOLD;
  if (models.length === 0) return null;
  const named = models.slice(0, NAMED_MAX).map(nameOf).join(', ');
  const more = models.length > NAMED_MAX ? ` and ${models.length - NAMED_MAX} more` : '';
  return `the configuration has no provider for ${named}${more}: each request for them is answered with 502`;
}

const nameOf = ({ id, upstreams }: CatalogModel): string =>
  `${id} (${[...new Set(upstreams.map(({ provider }) => provider))].join(', ')})`;
