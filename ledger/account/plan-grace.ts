import { MANUAL } from '../../contracts/payments-configuration.ts';
import type { CatalogPlan } from '../../contracts/plan.ts';
import type { BillingState } from './billing-state.ts';
import { isOpen, type PaymentAttempt, type PaymentsState } from './payments-state.ts';
import { DAY_MS } from './plan-periods.ts';
import type { PlanState } from './plan-state.ts';
import { newestRenewal, renewalsOf } from './plans.ts';

type Due = NonNullable<PlanState['due']>;

interface BegunNow {
  readonly plan: CatalogPlan;
  readonly provider: string;
  readonly nowMs: number;
  /** The period, where it was begun before. */
  readonly again: Due | null;
}

/**
 * Until when what is begun now may be paid. Each plan has its grace from its own first attempt of a period on; one that was asked for
 * after another has it no longer than until the end of the period, and none behind a period that has gone by so, or plans in turn would be
 * had for ever and never paid.
 */
export function graceOf(billing: BillingState, { plan, provider, nowMs, again }: BegunNow): number {
  const { payments } = billing;
  const anewMs = nowMs + plan.graceDays * DAY_MS;
  if (again === null) return provider !== MANUAL && isInTurns(billing, plan) ? nowMs : anewMs;
  const isSame = newestRenewal(payments, again.startMs)?.period?.plan === plan.id;
  const isKept = isSame || isWithoutGrace(payments, again);
  const graceMs = isKept ? again.graceUntilMs : firstOf(plan, payments, again, nowMs) + plan.graceDays * DAY_MS;
  // What an operator takes is not asked of anybody again: begun past its grace it has one of its own.
  const untilMs = provider === MANUAL && nowMs >= graceMs ? anewMs : graceMs;
  return isSame ? untilMs : Math.min(untilMs, again.endMs);
}

/** Whether a period that was never paid has gone by, for which another plan was tried, too: what is begun behind it is paid at once, or not had on. */
function isInTurns({ plan, payments }: BillingState, { id }: CatalogPlan): boolean {
  const due = plan?.due ?? null;
  return due !== null && renewalsOf(payments, due.startMs).some((one) => one.period?.plan !== id && isUnpaid(one));
}

const isUnpaid = (attempt: PaymentAttempt): boolean => attempt.state !== 'paid' && !isOpen(attempt);

/** Whether a period was begun behind one that has gone by so: no plan has less than a day, from its first attempt on. By the clocks of those behind it that one may be yet to come. */
export const isWithoutGrace = (payments: PaymentsState, { startMs, graceUntilMs }: Due): boolean =>
  graceUntilMs <= (renewalsOf(payments, startMs)[0]?.startedAtMs ?? graceUntilMs);

const firstOf = ({ id }: CatalogPlan, payments: PaymentsState, { startMs }: Due, nowMs: number): number =>
  renewalsOf(payments, startMs).find(({ period }) => period?.plan === id)?.startedAtMs ?? nowMs;
