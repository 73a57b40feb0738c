import { type MicroUsd, microUsd } from '../../contracts/money.ts';
import { type CatalogPlan, CENT } from '../../contracts/plan.ts';
import { DAY_MS, type Period } from './plan-periods.ts';

/**
 * What a dearer plan costs and gives more for the rest of a period: of what both differ by a part for each day that is left, the one
 * that has begun too, of as many as the period has, and of no more by a clock that is behind its beginning. Each is rounded once, for the customer: the price down to whole cents, the
 * credits up to a micro-USD.
 */
export function restOfPeriod(
  before: Pick<CatalogPlan, 'price' | 'credits'>,
  after: Pick<CatalogPlan, 'price' | 'credits'>,
  { startMs, endMs }: Period,
  nowMs: number,
): { readonly price: MicroUsd; readonly credits: MicroUsd } {
  const days = BigInt(Math.round((endMs - startMs) / DAY_MS));
  const begun = BigInt(Math.ceil((endMs - nowMs) / DAY_MS));
  const left = begun < days ? begun : days;
  const dearer = (after.price - before.price) * left;
  const more = (after.credits - before.credits) * left;
  return {
    price: microUsd((dearer / (days * CENT)) * CENT),
    credits: microUsd((more + days - 1n) / days),
  };
}
