import type { EventData } from '../../contracts/events.ts';
import { type MicroUsd, microUsd } from '../../contracts/money.ts';
import { type CatalogPlan, NO_PLAN, WITHOUT_PLAN } from '../../contracts/plan.ts';
import { type KnownPlans, planIn } from '../catalog/known-plans.ts';
import type { OpenAccount } from './account-state.ts';
import { isGivenUp, unansweredUntil } from './after-decline.ts';
import type { BillingState } from './billing-state.ts';
import { hasHadPlan } from './has-paid.ts';
import { planSaid, wantedPlan } from './plans.ts';

/**
 * Why the plan that there is goes on no more, whether that is written down yet or not: it was not to, or is not paid and its grace is
 * over. Null while it goes on, and where there is none. An outage ends none: what nobody has answered is waited for.
 */
export function whyOver(billing: BillingState, nowMs: number): EventData<'PlanEnded'>['reason'] | null {
  const { plan } = billing;
  if (plan === null || nowMs < (plan.period?.endMs ?? plan.anchorMs)) return null;
  if (wantedPlan(plan, nowMs) === NO_PLAN) return 'cancelled';
  if (plan.due === null || nowMs < plan.due.graceUntilMs) return null;
  return unansweredUntil(billing) === null || isGivenUp(billing) ? 'unpaid' : null;
}

/** As the catalog has it by which its period is; null where none was paid, or it is over. */
export function planInForce(
  { billing }: Pick<OpenAccount, 'billing'>,
  catalog: KnownPlans,
  nowMs: number,
): CatalogPlan | null {
  const { plan } = billing;
  if (plan === null || plan.period === null || whyOver(billing, nowMs) !== null) return null;
  return planIn(catalog, plan.plan, plan.catalogVersion);
}

/** Which plan an account has at an instant, one that is set by hand, too. */
export const planNow = ({ plan, billing }: Pick<OpenAccount, 'plan' | 'billing'>, nowMs: number): string =>
  whyOver(billing, nowMs) === null ? plan : WITHOUT_PLAN;

/** As `planSaid` has it once the end of one that is over is written. */
export const planSaidNow = (account: Pick<OpenAccount, 'plan' | 'billing' | 'grants'>, nowMs: number): string => {
  if (whyOver(account.billing, nowMs) === null) return planSaid(account);
  return hasHadPlan(account) ? NO_PLAN : WITHOUT_PLAN;
};

/** What an account may owe by its plan, from the first payment on until it is over, or another is to be in its place, which is there once it is paid. */
export function overdraftOf({ billing }: Pick<OpenAccount, 'billing'>, nowMs: number): MicroUsd {
  const { plan } = billing;
  if (plan === null || plan.overdraft === NONE) return NONE;
  const isAnothers = plan.period !== null && nowMs >= plan.period.endMs && wantedPlan(plan, nowMs) !== plan.plan;
  return isAnothers || whyOver(billing, nowMs) !== null ? NONE : plan.overdraft;
}

const NONE = microUsd(0n);
