import { instant } from '../../../contracts/instant.ts';
import { NO_PLAN } from '../../../contracts/plan.ts';
import type { OpenAccount } from '../../../ledger/account/account-state.ts';
import { openAttempts } from '../../../ledger/account/payments.ts';
import type { PlanState } from '../../../ledger/account/plan-state.ts';
import { duePlan, planSaid } from '../../../ledger/account/plans.ts';
import { isReturned } from '../../../ledger/account/returned-plan.ts';
import { unpaidPlan, wasPaidInTime } from '../../../ledger/account/unpaid-plan.ts';
import type { PlanEnd } from '../../../ledger/statement/plans-had.ts';
import { type CommandContext, readerOf } from '../command-context.ts';
import { nextCommand, startedWithOf } from '../next-command.ts';

/** To whom a plan is shown, and when. */
export interface ShownTo {
  readonly nowMs: number;
  /** Whether whoever reads may. */
  readonly seesPayments: boolean;
  /** What ends the plan at once; null where whoever reads may not. */
  readonly endsNow: string | null;
}

/** As whoever reads this command line may type it: of an account's members none may. */
export const endsNowFor = (context: CommandContext, accountId: string): string | null =>
  readerOf(context) === 'operator'
    ? nextCommand(startedWithOf(context), 'gateway', 'account', 'plan', accountId, NO_PLAN, '--now')
    : null;

/**
 * An account's plan, with its period and what comes then; where it has none, those that have ended.
 *
 * @param ends from the account's events: its state knows the last one alone, and not whether that was in force
 */
export function planInWords(account: OpenAccount, ends: readonly PlanEnd[], to: ShownTo): string {
  const { billing } = account;
  const { nowMs } = to;
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
  const during = `${inForce}, ${instant(period.startMs)} to ${instant(period.endMs)}`;
  const back = plan.due === null ? paidBackInWords(account, to) : null;
  const isFollowed = next !== null && next.plan !== NO_PLAN;
  if (back === null || isFollowed) {
    const then = next === null ? 'then renewed' : isFollowed ? `then ${next.plan}` : 'then it ends';
    return `${during}, ${then}${unpaid}${back === null || !to.seesPayments ? '' : `; ${back}`}`;
  }
  // Why it does is not for who may not see payments.
  return to.seesPayments ? `${during}; ${back}` : `${during}, then it ends`;
}

/** That the money of an account's plan went back, and what becomes of it, with what may be done about it; null where it did not. */
export function paidBackInWords(
  account: OpenAccount,
  { nowMs, endsNow }: Pick<ShownTo, 'nowMs' | 'endsNow'>,
): string | null {
  const { plan } = account.billing;
  if (plan === null || plan.period === null || !isReturned(account)) return null;
  const says = `what was paid for the plan ${plan.plan} went back: nothing may be owed by it`;
  if (plan.due !== null)
    return `${says} until ${duePlan(plan) === plan.plan ? 'its renewal' : `the plan ${duePlan(plan)}, which follows it,`} is paid`;
  const ends = nowMs < plan.period.endMs ? endOfPeriod(plan, plan.period.endMs) : 'it is over';
  const orEnd = endsNow === null ? '' : `, and \`${endsNow}\` ends it now`;
  return `${says}, and ${ends}; asking for it again begins it anew${orEnd}`;
}

/** That a plan is paid again, and what comes then; null where there is none, or nothing of it is paid. */
export function paidAgainInWords({ billing: { plan } }: OpenAccount): string | null {
  if (plan === null || plan.period === null) return null;
  const { period, next, due } = plan;
  const says = `the plan ${plan.plan} is paid`;
  if (due !== null) return `${says} until ${instant(period.endMs)}`;
  return `${says}, and ${next === null ? 'goes on' : endOfPeriod(plan, period.endMs)}`;
}

const endOfPeriod = ({ next }: PlanState, endMs: number): string =>
  next === null || next.plan === NO_PLAN ? `it ends at ${instant(endMs)}` : `${next.plan} follows at ${instant(endMs)}`;

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
