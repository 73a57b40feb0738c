import type { CatalogPlan } from '../../contracts/plan.ts';
import type { CatalogState } from './catalog-state.ts';

/** What is asked of a catalog where plans are. */
type KnownPlans = Pick<CatalogState, 'version' | 'plans'>;

/** Those that are sold. */
export const plansOnSale = ({ version, plans }: KnownPlans): readonly CatalogPlan[] => plans.get(version) ?? [];
