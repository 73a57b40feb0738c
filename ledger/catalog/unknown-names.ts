import { SHIPPED_BETAS } from '../../contracts/betas.ts';
import type { CatalogModel } from '../../contracts/catalog.ts';
import { KNOWN_USES } from '../../contracts/outside-input.ts';

/** What a catalog names and this program knows nothing of, and how it is taken: right where it is meant, a line each. */
export const describeUnknownNames = (models: readonly CatalogModel[]): string[] =>
  models.flatMap(({ id, betas, rateCard }) => [
    ...betas.listed.flatMap(({ name, contextWindow, rateCard: own }) =>
      contextWindow === null && own === null && !SHIPPED_BETAS.has(name)
        ? [`${id}: the beta ${name} is not known here: it passes, and is taken to change neither window nor price`]
        : [],
    ),
    ...Object.keys(rateCard.uses).flatMap((name) =>
      KNOWN_USES.has(name) ? [] : [`${id}: no tool that is known here is billed by the use ${name}`],
    ),
  ]);
