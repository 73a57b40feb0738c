import type { CatalogPlan } from '../../contracts/plan.ts';
import type { CatalogState } from './catalog-state.ts';

/** What is asked of a catalog where plans are. */
export type KnownPlans = Pick<CatalogState, 'version' | 'plans'>;

/** Those that are sold. */
export const plansOnSale = ({ version, plans }: KnownPlans): readonly CatalogPlan[] => plans.get(version) ?? [];

/** As a version has it; null where that has none. */
export const planIn = ({ plans }: KnownPlans, id: string, version: number): CatalogPlan | null =>
  plans.get(version)?.find((plan) => plan.id === id) ?? null;

export interface ListedPlan {
  readonly version: number;
  readonly plan: CatalogPlan;
}

/** As it was listed last for a product: who has a plan that is sold no more goes on with it. Null where it never was. */
export function newestPlan(catalog: KnownPlans, id: string, product: string): ListedPlan | null {
  for (let version = catalog.version; version > 0; version--) {
    const plan = planIn(catalog, id, version);
    if (plan?.product === product) return { version, plan };
  }
  return null;
}
