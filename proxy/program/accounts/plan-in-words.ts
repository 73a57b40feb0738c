import { instant } from '../../../contracts/instant.ts';
import { NO_PLAN } from '../../../contracts/plan.ts';
import type { OpenAccount } from '../../../ledger/account/account-state.ts';
import { openAttempts } from '../../../ledger/account/payments.ts';
import type { PlanState } from '../../../ledger/account/plan-state.ts';
import { planSaid } from '../../../ledger/account/plans.ts';
import { isReturned } from '../../../ledger/account/returned-plan.ts';
import { unpaidPlan, wasPaidInTime } from '../../../ledger/account/unpaid-plan.ts';
import type { PlanEnd } from '../../../ledger/statement/plans-had.ts';

/**
 * An account's plan, with its period and what comes then; where it has none, those that have ended.
 *
 * @param ends from the account's events: its state knows the last one alone, and not whether that was in force
 */
export function planInWords(account: OpenAccount, ends: readonly PlanEnd[], nowMs: number): string {
  const { billing } = account;
  const { plan } = billing;
  const inForce = planSaid(account);
  if (plan === null) {
    const last = ends.at(-1);
    // It is the last one's that is told so late.
    const isPaid = (end: PlanEnd): boolean => end === last && wasPaidInTime(account);
    return [inForce, ...ends.map((end, index) => endInWords(end, index, isPaid(end)))].join('; ');
  }
  const { period, next } = plan;
  const due = unpaidPlan({ billing }, nowMs);
  const isHeld = account.suspended !== null && openAttempts(billing.payments).every(({ kind }) => kind !== 'renewal');
  const unpaid =
    due === null ? notBegun(account, plan, nowMs) : `; ${due.says}${isHeld ? `, and ${HELD}` : `: ${due.next}`}`;
  if (period === null) return `${inForce}; ${plan.plan} once it is paid${unpaid}`;
  const back = paidBackInWords(account, nowMs);
  if (back !== null && plan.due === null)
    return `${inForce}, ${instant(period.startMs)} to ${instant(period.endMs)}; ${back}`;
  const then = next === null ? 'then renewed' : next.plan === NO_PLAN ? 'then it ends' : `then ${next.plan}`;
  return `${inForce}, ${instant(period.startMs)} to ${instant(period.endMs)}, ${then}${unpaid}`;
}

/**
 * That the money of an account's plan went back, and what becomes of it, with the command that ends it at once; null where it did not.
 *
 * @param nowMs of the reader's clock
 */
export function paidBackInWords(account: OpenAccount, nowMs: number): string | null {
  const { accountId, billing } = account;
  const { plan } = billing;
  if (plan === null || plan.period === null || !isReturned(account)) return null;
  const says = `what was paid for the plan ${plan.plan} went back: nothing may be owed by it`;
  if (plan.due !== null) return `${says} until its renewal is paid`;
  const { endMs } = plan.period;
  const ends = nowMs < endMs ? `ends at ${instant(endMs)}` : 'is over';
  return `${says}, and it ${ends}; asking for it again begins it anew, and \`gateway account plan ${accountId} ${NO_PLAN} --now\` ends it now`;
}

/** Where what the period is followed by is due, and nobody has looked at it yet: a gateway does, and who asks for the plan. */
function notBegun({ suspended }: OpenAccount, { period, next, due }: PlanState, nowMs: number): string {
  if (period === null && due === null && suspended !== null) return `; ${HELD}`;
  if (period === null || due !== null || nowMs < period.endMs) return '';
  if (next !== null && next.plan === NO_PLAN)
    return '; that is over: a gateway that runs writes down its end, as asking for none again does';
  return suspended === null
    ? '; that is over: the next is due, and a gateway that runs begins it, as asking for the plan again does'
    : `; that is over: the next is due, and ${HELD}`;
}

const HELD = 'no payment is begun while the account is suspended';

function endInWords({ plan, reason, at, wasInForce }: PlanEnd, index: number, isPaid: boolean): string {
  const how = wasInForce ? 'ended' : 'never began, given up';
  const unpaid = isPaid ? 'was paid, which was told only after its end' : 'was not paid in time';
  const why = reason === 'unpaid' ? unpaid : 'was cancelled';
  return `${index > 0 ? 'then ' : ''}${plan} ${how} ${at}: it ${why}`;
}
