import { MANUAL } from '../../contracts/payments-configuration.ts';
import type { CatalogPlan } from '../../contracts/plan.ts';
import { isNo } from './after-decline.ts';
import type { BillingState } from './billing-state.ts';
import { DAY_MS } from './plan-periods.ts';
import type { PlanState } from './plan-state.ts';
import { newestRenewal, renewalsOf } from './plans.ts';

interface BegunNow {
  readonly plan: CatalogPlan;
  readonly provider: string;
  readonly nowMs: number;
  /** The period, where it was begun before. */
  readonly again: PlanState['due'];
}

/**
 * Until when what is begun now may be paid. Each plan has its grace from its own first attempt of a period on; one that was asked for
 * after another has it no longer than until the end of the period, or plans in turn would be had for ever and never paid.
 */
export function graceOf(billing: BillingState, { plan, provider, nowMs, again }: BegunNow): number {
  const { payments } = billing;
  const anewMs = nowMs + plan.graceDays * DAY_MS;
  if (again === null) return provider !== MANUAL && isDeclinedForAnother(billing, plan) ? nowMs : anewMs;
  const isSame = newestRenewal(payments, again.startMs)?.period?.plan === plan.id;
  const graceMs = isSame ? again.graceUntilMs : firstOf(plan, payments, again, nowMs) + plan.graceDays * DAY_MS;
  // What an operator takes is not asked of anybody again: begun past its grace it has one of its own.
  const untilMs = provider === MANUAL && nowMs >= graceMs ? anewMs : graceMs;
  return isSame ? untilMs : Math.min(untilMs, again.endMs);
}

/** Whether a period that was never paid has gone by, and another plan was declined last for it: this one is paid at once, or not had on. */
function isDeclinedForAnother({ plan, payments }: BillingState, { id }: CatalogPlan): boolean {
  const due = plan?.due ?? null;
  const newest = due === null ? undefined : newestRenewal(payments, due.startMs);
  return newest !== undefined && newest.period?.plan !== id && isNo(newest);
}

const firstOf = (
  { id }: CatalogPlan,
  payments: BillingState['payments'],
  { startMs }: NonNullable<PlanState['due']>,
  nowMs: number,
): number =>
  renewalsOf(payments, startMs)
    .filter(({ period }) => period?.plan === id)
    .reduce((first, { startedAtMs }) => Math.min(first, startedAtMs), nowMs);
