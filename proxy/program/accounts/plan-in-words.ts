import { NO_PLAN } from '../../../contracts/plan.ts';
import type { OpenAccount } from '../../../ledger/account/account-state.ts';
import { hasHadPlan } from '../../../ledger/account/has-paid.ts';
import { planSaid } from '../../../ledger/account/plans.ts';
import { unpaidPlan, wasPaidInTime } from '../../../ledger/account/unpaid-plan.ts';

/** An account's plan, with its period and what comes then. */
export function planInWords(account: OpenAccount, nowMs: number): string {
  const { billing } = account;
  const { plan, endedPlan } = billing;
  const inForce = planSaid(account);
  if (plan === null) {
    if (endedPlan === null) return inForce;
    const unpaid = wasPaidInTime(account) ? 'was paid, which was told only after its end' : 'was not paid in time';
    const why = endedPlan.reason === 'unpaid' ? unpaid : 'was cancelled';
    return `${inForce}; ${endedPlan.plan} ${hasHadPlan(account) ? 'ended' : 'never began, given up'} ${instant(endedPlan.atMs)}: it ${why}`;
  }
  const { period, next } = plan;
  const due = unpaidPlan({ billing }, nowMs);
  const unpaid = due === null ? '' : `; ${due.says}: ${due.next}`;
  if (period === null) return `${inForce}; ${plan.plan} once it is paid${unpaid}`;
  const then = next === null ? 'then renewed' : next.plan === NO_PLAN ? 'then it ends' : `then ${next.plan}`;
  return `${inForce}, ${instant(period.startMs)} to ${instant(period.endMs)}, ${then}${unpaid}`;
}

const instant = (ms: number): string => new Date(ms).toISOString();
