import type { EventData } from '../../contracts/events.ts';
import { type MicroUsd, microUsd } from '../../contracts/money.ts';
import { type CatalogPlan, NO_PLAN, WITHOUT_PLAN } from '../../contracts/plan.ts';
import { type KnownPlans, planIn } from '../catalog/known-plans.ts';
import type { OpenAccount } from './account-state.ts';
import { isGivenUp, unansweredUntil } from './after-decline.ts';
import { hasHadPlan } from './has-paid.ts';
import { openAttempts } from './payments.ts';
import { planSaid, wantedPlan } from './plans.ts';
import { isReturned } from './returned-plan.ts';

/**
 * Why the plan that there is goes on no more, whether that is written down yet or not: it was not to, what was paid for its last period
 * went back and no other was to follow, or it is not paid and its grace is over. Null while it goes on, and where there is none. An outage
 * ends none: what nobody has answered is waited for, also behind money that went back.
 */
export function whyOver(account: HasPlan, nowMs: number): EventData<'PlanEnded'>['reason'] | null {
  const { billing } = account;
  const { plan } = billing;
  if (plan === null || nowMs < (plan.period?.endMs ?? plan.anchorMs)) return null;
  const wanted = wantedPlan(plan, nowMs);
  if (wanted === NO_PLAN) return 'cancelled';
  const isAsked = openAttempts(billing.payments).some(({ kind }) => kind === 'renewal');
  if (wanted === plan.plan && !isAsked && isReturned(account)) return 'cancelled';
  if (plan.due === null || nowMs < plan.due.graceUntilMs) return null;
  return unansweredUntil(billing) === null || isGivenUp(billing) ? 'unpaid' : null;
}

/** As the catalog has it by which its period is; null where none was paid, or it is over. */
export function planInForce(account: HasPlan, catalog: KnownPlans, nowMs: number): CatalogPlan | null {
  const { plan } = account.billing;
  if (plan === null || plan.period === null || whyOver(account, nowMs) !== null) return null;
  return planIn(catalog, plan.plan, plan.catalogVersion);
}

/** Which plan an account has at an instant, one that is set by hand, too. */
export const planNow = (account: HasPlan & Pick<OpenAccount, 'plan'>, nowMs: number): string =>
  whyOver(account, nowMs) === null ? account.plan : WITHOUT_PLAN;

/** As `planSaid` has it once the end of one that is over is written. */
export const planSaidNow = (account: HasPlan & Pick<OpenAccount, 'plan'>, nowMs: number): string => {
  if (whyOver(account, nowMs) === null) return planSaid(account);
  return hasHadPlan(account) ? NO_PLAN : WITHOUT_PLAN;
};

/**
 * What an account may owe by its plan, from the first payment on until it is over, or another is to be in its place, which is there once
 * it is paid; nothing while that money has gone back.
 */
export function overdraftOf(account: HasPlan, nowMs: number): MicroUsd {
  const { plan } = account.billing;
  if (plan === null || plan.overdraft === NONE || isReturned(account)) return NONE;
  const isAnothers = plan.period !== null && nowMs >= plan.period.endMs && wantedPlan(plan, nowMs) !== plan.plan;
  return isAnothers || whyOver(account, nowMs) !== null ? NONE : plan.overdraft;
}

type HasPlan = Pick<OpenAccount, 'billing' | 'grants'>;

const NONE = microUsd(0n);
