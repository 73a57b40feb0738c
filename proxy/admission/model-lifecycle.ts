import type { CatalogModel } from '../../contracts/catalog.ts';
import { type Refusal, refusal } from '../../contracts/errors.ts';
import type { CatalogState } from '../../ledger/catalog/catalog-state.ts';

type LifecycleState = 'active' | 'deprecated' | 'retired';

/** A model's state at an instant: a deprecated model is retired from the moment that it announced. */
export function lifecycleOf({ status, retiresAt }: CatalogModel, nowMs: number): LifecycleState {
  if (status === 'deprecated' && retiresAt !== null && Date.parse(retiresAt) <= nowMs) return 'retired';
  return status;
}

/** The model that a request names, if it can be called (interface, 3.1). */
export function findModel(catalog: CatalogState, id: string, nowMs: number): CatalogModel | Refusal {
  const model = catalog.models.get(id);
  if (model === undefined)
    return refusal('model_not_found', `model: there is no model ${JSON.stringify(id.slice(0, 128))}`);
  if (lifecycleOf(model, nowMs) !== 'retired') return model;
  return refusal('model_retired', `model ${id} is retired: use ${model.replacement}; the request shape is unchanged`);
}

/** The value of `x-svc-deprecation` (interface, 3.2); null for a model that is not deprecated. */
export function deprecationHeader(model: CatalogModel, nowMs: number): string | null {
  if (lifecycleOf(model, nowMs) !== 'deprecated' || model.retiresAt === null) return null;
  return `sunset=${model.retiresAt.slice(0, 10)}; replacement=${model.replacement}`;
}

/** A refusal that comes after the model is known: it carries the header as every other answer does. */
export function refusedFor(model: CatalogModel, nowMs: number, refused: Refusal): Refusal {
  const deprecation = deprecationHeader(model, nowMs);
  return deprecation === null ? refused : { ...refused, deprecation };
}

/** Tokens of the widest window that any model has, with any beta. */
export function widestWindow({ models }: CatalogState): number {
  let widest = 0;
  for (const { contextWindow, betas } of models.values())
    widest = Math.max(widest, contextWindow, ...betas.listed.map((beta) => beta.contextWindow ?? 0));
  return widest;
}

/** Models that can be called now, in the catalog's order. */
export const callableModels = (catalog: CatalogState, nowMs: number): CatalogModel[] =>
  [...catalog.models.values()].filter((model) => lifecycleOf(model, nowMs) !== 'retired');
